import { suggestion } from '@signalbox/protocol';
import { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

/** A mapping whose unknown keys are errors that name the nearest known one. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) => unknownKeys(issue, Object.keys(shape)) ?? inWords(issue),
  });
}

/** One of several mappings, told apart by the value of `key`. */
export function oneOf<const Options extends readonly [z.ZodObject, ...z.ZodObject[]]>(
  key: string,
  options: Options,
) {
  const names = options.flatMap(({ shape }) => [...(shape[key] as z.ZodLiteral<string>).values]);
  return z.discriminatedUnion(key, options as never, {
    error: (issue) =>
      issue.code === 'invalid_union' ? `must be one of: ${names.join(', ')}` : inWords(issue),
  }) as unknown as z.ZodType<z.infer<Options[number]>>;
}

/** What is wrong, in the words of someone who writes YAML. It never repeats a value. */
export function inWords(issue: RawIssue): string | undefined {
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

function unknownKeys(issue: RawIssue, known: readonly string[]): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined;
  return issue.keys.map((key) => `unknown key '${key}'${hint(key, known)}`).join('; ');
}

function hint(key: string, known: readonly string[]): string {
  return suggestion(key, known) || `; known here: ${known.join(', ')}`;
}
