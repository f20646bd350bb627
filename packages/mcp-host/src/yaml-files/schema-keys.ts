import { z } from 'zod';

/** Lists the keys that a schema knows at a path; none if any key is allowed there. `read` returns the raw value at a path. */
export function keysAt(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  read: (path: readonly PropertyKey[]) => unknown,
): string[] {
  let at: z.ZodType | undefined = schema;
  for (let depth = 0; ; depth++) {
    at = at && chosen(at, read(path.slice(0, depth)));
    if (depth === path.length) return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
    if (at instanceof z.ZodObject) at = at.shape[String(path[depth])];
    else if (at instanceof z.ZodRecord) at = at.valueType as z.ZodType;
    else if (at instanceof z.ZodArray) at = at.element as z.ZodType;
    else return [];
  }
}

/** Unwraps an optional schema, and picks the schema for this value from a discriminated union. */
function chosen(schema: z.ZodType, value: unknown): z.ZodType | undefined {
  if (schema instanceof z.ZodOptional) return chosen(schema.unwrap() as z.ZodType, value);
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return schema;
  const key = schema.def.discriminator;
  const name = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return (schema.options as z.ZodObject[]).find(({ shape }) => shape[key].safeParse(name).success);
}
