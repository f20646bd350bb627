import { isJsonObject } from '@signalbox/protocol';
import type { SchemaNode } from './schema-graph.ts';

/** Describes a kind of keyword: the values that it may have, and the schemas in them. */
export interface KeywordKind {
  /** Completes the sentence "the value must be …". */
  mustBe: string;
  accepts(value: unknown): boolean;
  holds?: 'schema' | 'schemas' | 'map of schemas';
  /** Each of its schemas becomes a node, because it is also used by itself. */
  asNodes?: true;
  /** `value`: it is a regular expression. `names`: the names of its map are. */
  pattern?: 'value' | 'names';
}

const schema: KeywordKind = { mustBe: 'a schema', accepts: isSchema, holds: 'schema' };
const schemas: KeywordKind = {
  mustBe: 'a list of schemas',
  accepts: (value) => isListOf(isSchema, value) && value.length > 0,
  holds: 'schemas',
};
const schemaMap: KeywordKind = {
  mustBe: 'an object of schemas',
  accepts: (value) => isMapOf(isSchema, value),
  holds: 'map of schemas',
};
const number: KeywordKind = { mustBe: 'a number', accepts: (value) => typeof value === 'number' };
const count: KeywordKind = {
  mustBe: 'a whole number from 0 up',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0,
};
const text: KeywordKind = { mustBe: 'a string', accepts: isText };
const types = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];

/**
 * The keywords of 2020-12 that are checked, `format`, which is only reported, and `default`, which stands for a missing argument. Others don't
 * concern arguments.
 */
export const keywordKinds: Readonly<Record<string, KeywordKind>> = {
  type: { mustBe: `one or more of ${types.join(', ')}`, accepts: isType },
  enum: { mustBe: 'a list of values', accepts: (value) => Array.isArray(value) && value.length > 0 },
  const: { mustBe: 'a value', accepts: () => true },
  default: { mustBe: 'a value', accepts: () => true },
  format: text,
  multipleOf: {
    mustBe: 'a number above 0',
    accepts: (value) => typeof value === 'number' && value > 0,
  },
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: { ...text, pattern: 'value' },
  maxItems: count,
  minItems: count,
  uniqueItems: { mustBe: 'true or false', accepts: (value) => typeof value === 'boolean' },
  contains: schema,
  maxContains: count,
  minContains: count,
  prefixItems: schemas,
  items: schema,
  unevaluatedItems: schema,
  maxProperties: count,
  minProperties: count,
  required: { mustBe: 'a list of names', accepts: isNames },
  dependentRequired: {
    mustBe: 'an object of lists of names',
    accepts: (value) => isMapOf(isNames, value),
  },
  properties: schemaMap,
  patternProperties: { ...schemaMap, pattern: 'names' },
  additionalProperties: schema,
  unevaluatedProperties: schema,
  propertyNames: schema,
  dependentSchemas: schemaMap,
  allOf: schemas,
  anyOf: { ...schemas, asNodes: true },
  oneOf: { ...schemas, asNodes: true },
  not: schema,
  if: { ...schema, asNodes: true },
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name
  then: schema,
  else: schema,
};

/** The keywords of older dialects, and those that only hold schemas, which are followed to find identifiers. */
const otherHolders: Readonly<Record<string, KeywordKind['holds']>> = {
  $defs: 'map of schemas',
  definitions: 'map of schemas',
  dependencies: 'map of schemas',
  additionalItems: 'schema',
};

/** Returns the kind of a keyword; `undefined` for one that is not checked. */
export function kindOf(keyword: string): KeywordKind | undefined {
  return Object.hasOwn(keywordKinds, keyword) ? keywordKinds[keyword] : undefined;
}

/** Returns how a keyword of any dialect holds schemas; `undefined` if it holds none. */
export function holdsOf(keyword: string): KeywordKind['holds'] {
  return kindOf(keyword)?.holds ?? (Object.hasOwn(otherHolders, keyword) ? otherHolders[keyword] : undefined);
}

/**
 * Lists the schemas directly inside a schema of any dialect, by all of its keywords or by these alone. A value in the place of a schema is
 * included even if it is not one.
 */
export function subschemas(of: Record<string, unknown>, keywords = Object.keys(of)): unknown[] {
  return keywords.flatMap((keyword) => {
    const holds = holdsOf(keyword);
    const value = of[keyword];
    if (holds === undefined || value === undefined) return [];
    if (Array.isArray(value)) return value;
    return holds === 'map of schemas' && isJsonObject(value) ? Object.values(value) : [value];
  });
}

/** The keywords that apply their schemas to the same value as their own schema. */
const inPlaceKeywords = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'];

/** Lists the subschemas that apply to the same value as the schema itself, except those behind its reference. */
export function subschemasInPlace(of: Record<string, unknown>): SchemaNode[] {
  return subschemas(of, inPlaceKeywords) as SchemaNode[];
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isJsonObject(value);
}

function isListOf(accepts: (entry: unknown) => boolean, value: unknown): value is unknown[] {
  return Array.isArray(value) && value.every(accepts);
}

function isMapOf(accepts: (entry: unknown) => boolean, value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every(accepts);
}

function isNames(value: unknown): boolean {
  return isListOf(isText, value);
}

function isType(value: unknown): boolean {
  const names = [value].flat();
  return (
    names.length > 0 &&
    names.every((name) => types.includes(name as string)) &&
    new Set(names).size === names.length
  );
}
