import type { z } from 'zod';

/** Returns the first problem of an entry, with the path of its field; `undefined` if it fits the schema. */
export function schemaProblem(schema: z.ZodType, entry: unknown, word: string): string | undefined {
  const parsed = schema.safeParse(entry);
  if (parsed.success) return undefined;
  const issue = parsed.error.issues[0]!;
  return `${issue.path.join('.') || word}: ${issue.message}`;
}
