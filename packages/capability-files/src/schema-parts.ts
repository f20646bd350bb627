import { suggestion } from '@signalbox/protocol';
import { z } from 'zod';

/** A mapping whose unknown keys are errors that name the nearest known one. */
export function strictMapping<Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => unknownKeys(issue, Object.keys(shape)) ?? typeError(issue),
  });
}

/** One of several mappings, told apart by the value of `key`. */
export function oneOfMappings<const Options extends readonly [z.ZodObject, ...z.ZodObject[]]>(
  key: string,
  options: Options,
) {
  const names = options.flatMap(({ shape }) => [...(shape[key] as z.ZodLiteral<string>).values]);
  return z.discriminatedUnion(key, options as never, {
    error: (issue) =>
      issue.code === 'invalid_union' ? `must be one of: ${names.join(', ')}` : typeError(issue),
  }) as unknown as z.ZodType<z.infer<Options[number]>>;
}

/** Tells someone who writes YAML that a value is missing or of the wrong type. The message never holds the value. */
export function typeError(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.input === undefined) return 'is missing';
  return `must be ${typeNames[issue.expected] ?? `of type ${issue.expected}`}`;
}

const typeNames: Record<string, string> = {
  object: 'a mapping (key: value)',
  record: 'a mapping (name: value)',
  array: 'a list',
  string: 'a text (put it in quotes)',
  number: 'a number',
  boolean: 'true or false',
};

/** A text that is not empty. */
export const text = z.string({ error: typeError }).min(1, { error: 'must not be empty' });

/** A text without line breaks. */
export const oneLine = text.regex(/^[^\r\n\0]*$/, { error: 'must be a single line' });

/** The name of a header that a request may set. */
export const headerName = text
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'is not the name of a header' })
  .regex(/^(?!(?:host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive)$)/i, {
    error: 'is set by the connection itself; leave it out',
  });

/** A number above 0, up to `max` seconds. */
export function seconds(max: number) {
  return z
    .number({ error: typeError })
    .positive({ error: 'must be more than 0 seconds' })
    .max(max, { error: `must be at most ${max} seconds` });
}

function unknownKeys(issue: z.core.$ZodRawIssue, known: readonly string[]): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined;
  return issue.keys
    .map((key) => `unknown key '${key}'${suggestion(key, known) || `; known here: ${known.join(', ')}`}`)
    .join('; ');
}
