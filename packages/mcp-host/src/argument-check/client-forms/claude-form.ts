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

/** Returns schemas without a union at the top. By their structure they mean the same; the comparison is a second proof. */
function proposals(schema: Schema): Schema[] {
  const { allOf = [], unevaluatedProperties: others, ...rest } = schema;
  const whole = Array.isArray(allOf) ? merged([rest, ...allOf], schema) : undefined;
  if (!whole) return [];
  const { anyOf, oneOf, ...base } = whole;
  const branches = anyOf ?? oneOf;
  // Without a union, properties that no part has evaluated are those that the schema does not name.
  const closed = (one: Schema): Schema =>
    others === undefined || one.additionalProperties !== undefined
      ? one
      : { ...one, additionalProperties: others };
  if (branches === undefined) return [closed(base)];
  if (!Array.isArray(branches) || (anyOf !== undefined && oneOf !== undefined)) return [];
  const resolvedBranches = branches.map((branch) => merged([branch], schema));
  if (!resolvedBranches.every((branch) => branch !== undefined)) return [];
  const isOneOf = oneOf !== undefined;
  const flat = flattened(base, resolvedBranches, isOneOf);
  return [flat && closed(flat), counted(closed(base), resolvedBranches, isOneOf)].filter(
    (proposed) => proposed !== undefined,
  );
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

/** Keywords that apply to what others of their group leave. Two parts that both have some can't be one, except for `properties` alone. */
const groups = [
  ['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties'],
  ['if', 'then', 'else'],
];

function mergedPair(one: Schema, other: Schema): Schema | undefined {
  const has = (schema: Schema, group: readonly string[]): boolean =>
    group.some((keyword) => schema[keyword] !== undefined);
  for (const group of groups) {
    const inner = group.filter((keyword) => keyword !== 'properties');
    if (has(one, group) && has(other, group) && (has(one, inner) || has(other, inner))) return undefined;
  }
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

/** Makes one schema of branches that differ in one property at most. Of the branches of `oneOf`, that one must be a constant. */
function flattened(base: Schema, branches: readonly Schema[], isOneOf: boolean): Schema | undefined {
  const [first] = branches;
  const properties = branches.map((branch) => (isJsonObject(branch.properties) ? branch.properties : {}));
  if (!first || !properties[0]) return undefined;
  const textIn = (all: Schema, name: string): string | undefined =>
    Object.hasOwn(all, name) ? canonicalText(all[name]) : undefined;
  const [name, ...more] = Object.keys(properties[0]).filter(
    (one) => new Set(properties.map((all) => textIn(all, one))).size > 1,
  );
  if (name === undefined || more.length > 0) return undefined;
  const kinds = properties.map((all) => (Object.hasOwn(all, name) ? all[name] : undefined));
  const rest = branches.map((branch, i) =>
    canonicalText({ ...branch, properties: { ...properties[i], [name]: 0 } }),
  );
  if (kinds.includes(undefined) || new Set(rest).size > 1) return undefined;
  if (isOneOf && !kinds.every((kind) => isJsonObject(kind) && kind.const !== undefined)) return undefined;
  return mergedPair(base, { ...first, properties: { ...properties[0], [name]: anyOf(kinds) } });
}

function anyOf(kinds: readonly unknown[]): unknown {
  const constants = kinds.flatMap((kind) => {
    if (!isJsonObject(kind) || kind.const === undefined) return [];
    return Object.keys(kind).every((keyword) => ['const', 'type'].includes(keyword)) ? [kind.const] : [];
  });
  return constants.length === kinds.length ? { enum: constants } : { anyOf: kinds };
}

/**
 * Counts properties in place of a union each of whose branches requires another one, if the schema takes only these and the required ones.
 */
function counted(base: Schema, branches: readonly Schema[], isOneOf: boolean): Schema | undefined {
  const {
    required = [],
    properties,
    additionalProperties,
    patternProperties,
    minProperties,
    maxProperties,
  } = base;
  if (!isJsonObject(properties) || additionalProperties !== false) return undefined;
  if ((patternProperties ?? minProperties ?? maxProperties) !== undefined) return undefined;
  const always = new Set([required].flat());
  const free = Object.keys(properties).filter((name) => !always.has(name));
  const asked = branches.map((branch) => ({
    names: [branch.required].flat(),
    keywords: Object.keys(branch),
  }));
  const isOneEach = asked.every(({ names, keywords }) => names.length === 1 && keywords.length === 1);
  const names = asked.flatMap((branch) => branch.names).sort();
  if (!isOneEach || canonicalText(names) !== canonicalText(free.sort())) return undefined;
  const least = always.size + 1;
  return { ...base, minProperties: least, ...(isOneOf && { maxProperties: least }) };
}
