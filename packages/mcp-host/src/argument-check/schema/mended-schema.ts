import { isJsonObject } from '@signalbox/protocol';
import { withRoundedNumbers } from '../json/exact-numbers.ts';
import { holdsOf, kindOf } from './keywords.ts';
import { isDraft07, toPresentDialect } from './older-dialects.ts';
import { readSchema } from './read-schema.ts';
import { SchemaProblem } from './schema-graph.ts';

const texts = new Set(['$schema', 'title', 'description', '$comment']);

/**
 * Returns a schema without the parts that generators write and that are no JSON Schema, if the schema means the same without them. For
 * example, `required: null` is left out. `changed` is called with the place of each change. An unchanged schema is the same object.
 */
export function mendedSchema(schema: unknown, at: string, changed: (place: string) => void): unknown {
  if (!isJsonObject(schema)) return schema;
  let isMended = false;
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    const place = `${at}.${keyword}`;
    // Validators refuse it there, and OpenAPI says that it then means nothing.
    const isEmpty = keyword === 'nullable' && schema.type === undefined;
    if (isEmpty) changed(place);
    const mended = isEmpty ? undefined : mendedValue(keyword, value, place, changed);
    if (mended !== value) isMended = true;
    return mended === undefined ? [] : [[keyword, mended]];
  });
  return isMended ? Object.fromEntries(entries) : schema;
}

/** Returns the value of a keyword, or `undefined` to leave the keyword out. */
function mendedValue(keyword: string, value: unknown, at: string, changed: (place: string) => void): unknown {
  const holds = holdsOf(keyword);
  const replaced = (by: unknown): unknown => {
    changed(at);
    return by;
  };
  if (texts.has(keyword)) return typeof value === 'string' ? value : replaced(undefined);
  if (value === null && (holds !== undefined || kindOf(keyword)?.accepts(null) === false))
    return replaced(undefined);
  if (keyword === 'required') return mendedNames(value, replaced);
  if (holds === 'map of schemas') {
    if (isEmptyList(value)) return replaced({});
    return mendedMap(value, at, changed);
  }
  if (holds === undefined) return value;
  if (!Array.isArray(value)) return mendedSchema(value, at, changed);
  const inner = value.map((schema, i) => mendedSchema(schema, `${at}.${i}`, changed));
  return inner.some((schema, i) => schema !== value[i]) ? inner : value;
}

/** Mends the names of required properties. Draft 3 has a boolean in their place, which says nothing of the properties of its own schema. */
function mendedNames(value: unknown, replaced: (by: unknown) => unknown): unknown {
  if (typeof value === 'boolean') return replaced(undefined);
  if (typeof value === 'string') return replaced([value]);
  if (!Array.isArray(value) || value.every((name) => typeof name === 'string')) return value;
  return replaced(value.filter((name) => typeof name === 'string'));
}

/** Some languages write an empty object as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function mendedMap(map: unknown, at: string, changed: (place: string) => void): unknown {
  if (!isJsonObject(map)) return map;
  let isMended = false;
  const entries = Object.entries(map).map(([name, schema]) => {
    const place = `${at}.${name}`;
    const isEmpty = schema === null || isEmptyList(schema);
    if (isEmpty) changed(place);
    const mended = isEmpty ? {} : mendedSchema(schema, place, changed);
    if (mended !== schema) isMended = true;
    return [name, mended] as const;
  });
  return isMended ? Object.fromEntries(entries) : map;
}

/** Returns the reason why a document is no JSON Schema of any dialect; `undefined` if it is one. */
export function schemaProblem(document: Record<string, unknown>): string | undefined {
  return problemAt(withRoundedNumbers(document), '', isDraft07(document));
}

/** Returns the reason why clients that compile a schema may fail; `undefined` if it can be compiled. */
export function compileProblem(document: Record<string, unknown>): string | undefined {
  try {
    const { patterns, unchecked } = readSchema(document);
    for (const pattern of [...patterns.keys(), ...unchecked]) new RegExp(pattern, 'u');
    return schemaProblem(document);
  } catch (thrown) {
    if (thrown instanceof SchemaProblem || thrown instanceof SyntaxError) return thrown.message;
    throw thrown;
  }
}

function problemAt(schema: unknown, at: string, draft07: boolean): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  if (!isJsonObject(schema)) return `'${at}' must be a schema`;
  if (schema.$ref !== undefined && typeof schema.$ref !== 'string') return `'${at}/$ref' must be a string`;
  for (const [keyword, value] of Object.entries(toPresentDialect(schema, draft07))) {
    const kind = kindOf(keyword);
    // An empty list of values is unusual, and allowed.
    const isEmptyEnum = keyword === 'enum' && Array.isArray(value);
    if (kind && value !== undefined && !isEmptyEnum && !kind.accepts(value))
      return `'${at}/${keyword}' must be ${kind.mustBe}`;
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const problem = problemWithin(keyword, value, `${at}/${keyword}`, draft07);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemWithin(keyword: string, value: unknown, at: string, draft07: boolean): string | undefined {
  const holds = holdsOf(keyword);
  if (holds === undefined) return undefined;
  if (holds !== 'map of schemas' && !Array.isArray(value)) return problemAt(value, at, draft07);
  if (typeof value !== 'object' || value === null) return `'${at}' must be an object of schemas`;
  for (const [name, inner] of Object.entries(value)) {
    // A dependency may be a list of names.
    if (keyword === 'dependencies' && Array.isArray(inner)) continue;
    const problem = problemAt(inner, `${at}/${name}`, draft07);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
