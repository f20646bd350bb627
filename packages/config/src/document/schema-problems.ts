import { nearestName, suggestion } from '@signalbox/protocol';
import type { z } from 'zod';
import { keysAt } from './schema-keys.ts';

/** One problem of a configuration: the line and the path where it stands, and what would be right. */
export interface ConfigProblem {
  line: number;
  path: string;
  message: string;
}

/** A problem that a schema reports, not yet with a line. `key` is set if the key itself is wrong, and not its value. */
export interface SchemaProblem {
  at: readonly PropertyKey[];
  key?: string;
  message: string;
}

/**
 * Translates one zod issue. `read` returns the raw value at a path, which suggestions are found by; no message holds it.
 */
export function schemaProblems(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  read: (path: readonly PropertyKey[]) => unknown,
): SchemaProblem[] {
  const at = issue.path;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ at, key, message: unknownKey(key, keysAt(schema, at, read)) }));
    case 'invalid_key':
      return [
        {
          at: at.slice(0, -1),
          key: String(at.at(-1)),
          message: `not a valid name: ${issue.issues[0]?.message ?? issue.message}`,
        },
      ];
    case 'invalid_value':
      return oneOf(at, issue.values.map(String), read);
    case 'invalid_union': {
      // By a discriminator: its path is that of the discriminating key.
      const { options } = issue as { options?: readonly unknown[] };
      if (options === undefined) return [{ at, message: issue.message }];
      if (read(at) === undefined) return [{ at, message: `is missing; one of: ${options.join(', ')}` }];
      return oneOf(at, options.map(String), read);
    }
    case 'too_small':
    case 'too_big': {
      const bound = issue.code === 'too_big' ? `at most ${issue.maximum}` : `at least ${issue.minimum}`;
      const isNumber = issue.origin === 'number' || issue.origin === 'int';
      return [{ at, message: isNumber ? `must be ${bound}` : issue.message }];
    }
    case 'invalid_type':
      return [{ at, message: read(at) === undefined ? 'is missing' : `must be ${typeName(issue.expected)}` }];
    default:
      return [{ at, message: issue.message }];
  }
}

function oneOf(
  at: readonly PropertyKey[],
  names: string[],
  read: (path: readonly PropertyKey[]) => unknown,
): SchemaProblem[] {
  return [{ at, message: `must be one of: ${names.join(', ')}${suggestion(String(read(at)), names)}` }];
}

function unknownKey(key: string, known: string[]): string {
  if (known.length === 0) return `unknown key '${key}'`;
  return nearestName(key, known) === undefined
    ? `unknown key '${key}'; known here: ${known.join(', ')}`
    : `unknown key '${key}'${suggestion(key, known)}`;
}

const typeNames: Record<string, string> = {
  object: 'a mapping (key: value)',
  record: 'a mapping (name: value)',
  array: 'a list',
  string: 'a text (put it in quotes)',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

function typeName(expected: string): string {
  return typeNames[expected] ?? `of type ${expected}`;
}

/** Writes a path as in `roles.researcher.tools[0]`; the path of the whole file is `(top level)`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
  }
  return text === '' ? '(top level)' : text;
}
