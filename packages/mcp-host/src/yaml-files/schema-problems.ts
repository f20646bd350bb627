import { nearestName, suggestion } from '@signalbox/protocol/internal';
import type { z } from 'zod';
import { keysAt } from './schema-keys.ts';

/** A problem that a schema finds in a document. */
export interface SchemaProblem {
  /** The path to the wrong value, or to the mapping whose `key` is wrong. */
  at: readonly PropertyKey[];
  /** The wrong key; absent if its value is wrong. */
  key?: string;
  /** Set if the key is a name that people choose, and breaks the rule for these names. */
  isBadName?: true;
  message: string;
}

/**
 * Describes the problems of a document that a schema refuses, in words for the person who writes it. Values are read from `document` to
 * find the nearest name; no message holds one.
 */
export function schemaProblems(error: z.ZodError, schema: z.ZodType, document: unknown): SchemaProblem[] {
  const read = (path: readonly PropertyKey[]) => valueAt(document, path);
  return error.issues.flatMap((issue) => problemsOf(issue, schema, read));
}

type ReadValue = (path: readonly PropertyKey[]) => unknown;

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType, read: ReadValue): SchemaProblem[] {
  const at = issue.path;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ at, key, message: unknownKey(key, keysAt(schema, at, read)) }));
    case 'invalid_key': {
      const message = issue.issues[0]?.message ?? issue.message;
      return [{ at: at.slice(0, -1), key: String(at.at(-1)), isBadName: true, message }];
    }
    case 'invalid_value':
      return [{ at, message: notOneOf(issue.values.map(String), read(at)) }];
    case 'invalid_union': {
      // A union without a discriminator has no options; its path would be that of the discriminating key.
      const { options } = issue as { options?: readonly unknown[] };
      if (options === undefined) return [{ at, message: issue.message }];
      if (read(at) === undefined) return [{ at, message: `is missing; one of: ${options.join(', ')}` }];
      return [{ at, message: notOneOf(options.map(String), read(at)) }];
    }
    case 'too_small':
    case 'too_big': {
      const isNumber = issue.origin === 'number' || issue.origin === 'int';
      return [{ at, message: isNumber ? `must be ${boundText(issue)}` : issue.message }];
    }
    case 'invalid_type':
      return [{ at, message: read(at) === undefined ? 'is missing' : `must be ${typeName(issue.expected)}` }];
    default:
      return [{ at, message: issue.message }];
  }
}

function valueAt(document: unknown, path: readonly PropertyKey[]): unknown {
  let at = document;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at;
}

function unknownKey(key: string, known: string[]): string {
  if (known.length === 0) return `unknown key '${key}'`;
  return nearestName(key, known) === undefined
    ? `unknown key '${key}'; known here: ${known.join(', ')}`
    : `unknown key '${key}'${suggestion(key, known)}`;
}

function notOneOf(names: string[], value: unknown): string {
  if (names.length === 1) return `must be '${names[0]}'`;
  return `must be one of: ${names.join(', ')}${suggestion(String(value), names)}`;
}

function boundText(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  if (issue.code === 'too_big')
    return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
  return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
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
