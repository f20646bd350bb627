import { isJsonObject } from '@signalbox/protocol';
import { canonicalText } from '../json/canonical-text.ts';
import type { FoundForm, SameMeaning } from './found-form.ts';

type Schema = Record<string, unknown>;

const unions = ['allOf', 'anyOf', 'oneOf'] as const;

/** Finds the form of a schema without a union at its top: claude 2.1.332 leaves out a tool that has one. */
export function claudeForm(schema: Schema, isSame: SameMeaning): FoundForm {
  const found = unions.filter((keyword) => schema[keyword] !== undefined);
  if (found.length === 0) return {};
  const form = proposals(schema).find((proposed) => isSame(schema, proposed));
  return form ? { form } : { unshown: { how: 'left out', why: `it has ${found.join(' and ')} at the top` } };
}

/** Returns schemas without a union at the top. Some of them may mean the same. */
function proposals(schema: Schema): Schema[] {
  const { allOf = [], ...rest } = schema;
  const whole = Array.isArray(allOf) ? merged([rest, ...allOf], schema) : undefined;
  if (!whole) return [];
  const { anyOf, oneOf, ...base } = whole;
  const branches = anyOf ?? oneOf;
  if (branches === undefined) return [closed(base)];
  if (!Array.isArray(branches) || (anyOf !== undefined && oneOf !== undefined)) return [];
  const flat = flattened(
    base,
    branches.map((branch) => merged([branch], schema)),
  );
  return [...(flat ? [closed(flat)] : []), counted(base, oneOf !== undefined)];
}

/** Merges schemas that all apply to one object; `undefined` if that would take more than one keyword of a kind. */
function merged(parts: readonly unknown[], document: Schema, depth = 0): Schema | undefined {
  let whole: Schema = {};
  for (const part of parts) {
    const next = isJsonObject(part) && depth < 8 ? resolved(part, document, depth) : undefined;
    const both = next && mergedPair(whole, next);
    if (!both) return undefined;
    whole = both;
  }
  return whole;
}

/** Puts the target of a reference and the parts of `allOf` into a schema. */
function resolved({ $ref, allOf, ...rest }: Schema, document: Schema, depth: number): Schema | undefined {
  const inner = [
    ...($ref === undefined ? [] : [targetOf($ref, document)]),
    ...(Array.isArray(allOf) ? allOf : []),
  ];
  return inner.length === 0 ? rest : merged([rest, ...inner], document, depth + 1);
}

function targetOf(ref: unknown, document: Schema): unknown {
  const [, map, name] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(String(ref)) ?? [];
  const definitions = map === undefined ? undefined : document[map];
  return isJsonObject(definitions) && Object.hasOwn(definitions, name!) ? definitions[name!] : undefined;
}

/** Keywords that say nothing of arguments. The first schema that has one keeps it. */
const notes = new Set(['$schema', '$comment', 'title', 'description', 'examples', 'default']);

function mergedPair(one: Schema, other: Schema): Schema | undefined {
  const both = { ...one };
  for (const [keyword, value] of Object.entries(other)) {
    const before = both[keyword];
    if (before === undefined) both[keyword] = value;
    else if (notes.has(keyword) || canonicalText(before) === canonicalText(value)) continue;
    else if (keyword === 'required') both.required = [...new Set([before, value].flat())];
    else if (keyword === 'properties' && isJsonObject(before) && isJsonObject(value))
      both.properties = mergedProperties(before, value);
    else return undefined;
  }
  return both;
}

function mergedProperties(one: Schema, other: Schema): Schema {
  const shared = Object.entries(other).map(([name, schema]) => {
    const before = Object.hasOwn(one, name) ? one[name] : schema;
    return [name, canonicalText(before) === canonicalText(schema) ? schema : { allOf: [before, schema] }];
  });
  return Object.fromEntries([...Object.entries(one), ...shared]);
}

/** Without a union, properties that no part has evaluated are those that the schema does not name. */
function closed({ unevaluatedProperties, ...schema }: Schema): Schema {
  if (unevaluatedProperties === undefined || schema.additionalProperties !== undefined) return schema;
  return { ...schema, additionalProperties: unevaluatedProperties };
}

/** Makes one schema of branches that differ in their properties: each may be as in any branch, and those that all require are required. */
function flattened(base: Schema, branches: readonly (Schema | undefined)[]): Schema | undefined {
  const all = branches.map((branch = {}) => {
    const { properties, required = [], ...rest } = branch;
    return {
      properties: isJsonObject(properties) ? Object.entries(properties) : [],
      required: [required].flat(),
      rest,
    };
  });
  const [first, ...others] = all;
  const text = canonicalText(first?.rest);
  if (!first || branches.includes(undefined) || others.some(({ rest }) => canonicalText(rest) !== text))
    return undefined;
  const kinds = new Map<string, unknown[]>();
  for (const [name, schema] of all.flatMap(({ properties }) => properties))
    kinds.set(name, [...(kinds.get(name) ?? []), schema]);
  const required = first.required.filter((name) => others.every((other) => other.required.includes(name)));
  return mergedPair(base, {
    ...first.rest,
    properties: Object.fromEntries(Array.from(kinds, ([name, schemas]) => [name, anyOf(schemas)])),
    ...(required.length > 0 && { required }),
  });
}

function anyOf(schemas: readonly unknown[]): unknown {
  const kinds = [...new Map(schemas.map((schema) => [canonicalText(schema), schema])).values()];
  const constants = kinds.map((kind) => (isJsonObject(kind) ? kind.const : undefined));
  if (kinds.length === 1) return kinds[0];
  if (!constants.includes(undefined)) return { enum: constants };
  return { anyOf: kinds };
}

/** Counts properties in place of a union whose branches each require another one. */
function counted(base: Schema, isOneOf: boolean): Schema {
  const least = [base.required ?? []].flat().length + 1;
  return { ...base, minProperties: least, ...(isOneOf && { maxProperties: least }) };
}
