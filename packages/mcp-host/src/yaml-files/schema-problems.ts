import { nearestName, parseDuration, suggestion } from '@signalbox/protocol/internal';
import { z } from 'zod';

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
      return [{ at, message: wrongType(issue, { schema, read }) }];
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
  const meant = meantKey(key, known);
  return meant === undefined
    ? `unknown key '${key}'; known here: ${known.join(', ')}`
    : `unknown key '${key}' (did you mean '${meant}'?)`;
}

/** Keys that other programs have for what is called otherwise here. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  cmd: ['command'],
  exec: ['command'],
  arguments: ['args'],
  environment: ['env'],
  servers: ['mcpServers'],
  mcp: ['mcpServers'],
  agents: ['roles'],
  port: ['listen'],
  host: ['listen'],
  address: ['listen'],
  allow: ['tools', 'includeTools'],
  allowedTools: ['tools', 'includeTools'],
  deny: ['excludeTools'],
};

/** Returns the known key that somebody meant: by another word, by a few wrong letters, or by its beginning. */
function meantKey(key: string, known: string[]): string | undefined {
  const other = Object.hasOwn(otherWords, key) ? otherWords[key] : undefined;
  return (
    other?.find((name) => known.includes(name)) ??
    nearestName(key, known) ??
    known.find(
      (name) => name.length >= 3 && (key.startsWith(name) || (key.length >= 3 && name.startsWith(key))),
    )
  );
}

/** Says which type a value must have and how it is written. No text holds the value, which may be a secret. */
function wrongType(
  { path, expected, message }: z.core.$ZodIssueInvalidType,
  { schema, read }: { schema: z.ZodType; read: ReadValue },
): string {
  const value = read(path);
  if (value === undefined) return 'is missing';
  // A schema's own text says how the value is written.
  if (!message.startsWith('Invalid input')) return message;
  const must = `must be ${typeName(expected)}`;
  const isList = Array.isArray(value);
  switch (expected) {
    case 'object':
    case 'record': {
      const keys = keysAt(schema, path, read);
      const known = keys.length > 0 && keys.length <= 8 ? `, with the keys ${keys.join(', ')}` : '';
      if (isList) return `${must}${known}, and is a list: write its entries without '- ' and without [ ]`;
      if (value === null) return `${must}${known}, and is empty: indent the lines that belong to it`;
      return `${must}${known}`;
    }
    case 'array':
      return typeof value === 'string' ? `${must}: put it in [ ]` : must;
    case 'string':
      return isList ? 'must be one text, and is a list' : must;
    case 'number':
    case 'int':
      return `${must}${numberCure(String(path.at(-1)), value)}`;
    case 'boolean':
      return typeof value === 'string' ? `${must}, without quotes` : must;
    default:
      return must;
  }
}

/** Says how a text would be written as a number; times and sizes have the unit in the name of their key. */
function numberCure(key: string, value: unknown): string {
  if (typeof value !== 'string') return '';
  if (/^\d+$/.test(value)) return ', without quotes';
  const ms = parseDuration(value);
  const unit = /Ms$/.test(key) ? 'milliseconds' : /Seconds$/.test(key) ? 'seconds' : undefined;
  if (unit !== undefined) {
    const written = ms === undefined ? '' : `: write ${unit === 'seconds' ? ms / 1000 : ms}`;
    return ` of ${unit}${written}`;
  }
  return /bytes$/i.test(key) ? ' of bytes, without a unit, as in 1048576 for 1 MiB' : '';
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

/** Lists the keys that a schema knows at a path; none if any key is allowed there. `read` returns the raw value at a path. */
function keysAt(
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
