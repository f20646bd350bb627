import { subschemasInPlace } from '../schema/keywords.ts';
import {
  nodeAt,
  nodePrefix,
  type SchemaGraph,
  type SchemaNode,
  type SchemaObject,
} from '../schema/schema-graph.ts';

/** The most values for a part, by the depth at which it stands, and the most levels that values have. */
const most = [1_500, 8, 4, 2];
/** The most branches and references of one value of which the properties are also set alone. */
const maxBases = 6;
/** Objects with more properties than this have no values with each subset of them. */
const maxForSubsets = 6;
/** Longer texts and lists are not made. */
const maxLength = 64;
/** A value of each type. */
const oneOfEach: readonly unknown[] = ['a', 1, 1.5, true, null, [], {}];
/** Texts for common formats and patterns. */
const texts = [
  'a',
  '',
  '1',
  'Ab_1-x',
  '2026-01-31',
  '2026-01-31T10:00:00Z',
  'https://example.org/a',
  'a@example.org',
];

/**
 * Generates values that fit a schema, and others that nearly do: a part has another type, is missing, too small or one too many. Returns
 * `undefined` if there would be too many of them.
 */
export function sampleValues(graph: SchemaGraph): unknown[] | undefined {
  const values = new Sampler(graph).values({ $ref: `${nodePrefix}${graph.root}` }, 0);
  return values.length < most[0]! ? values : undefined;
}

class Sampler {
  readonly #graph: SchemaGraph;

  constructor(graph: SchemaGraph) {
    this.#graph = graph;
  }

  /** Returns values for a node, those that probably fit first. */
  values(node: SchemaNode, depth: number): unknown[] {
    const limit = most[depth];
    if (limit === undefined) return ['a', 1];
    // All values of the whole schema are tried: to find equal ones would take longer than to try them.
    return depth === 0
      ? this.#all(node, depth).take(limit).toArray()
      : firstDistinct(this.#all(node, depth), limit);
  }

  *#all(node: SchemaNode, depth: number): Generator<unknown> {
    const parts = this.#partsOf(node);
    const types = new Set(parts.flatMap(({ type }) => type ?? []));
    const has = (type: string, ...keywords: string[]): boolean =>
      types.has(type) || parts.some((part) => keywords.some((keyword) => part[keyword] !== undefined));
    yield* parts.flatMap(namedValues);
    if (has('object', 'properties', 'required', 'additionalProperties')) yield* this.#objects(parts, depth);
    if (has('string', 'pattern', 'minLength', 'maxLength')) yield* textsOf(parts);
    if (has('number', 'minimum', 'maximum') || types.has('integer')) yield* numbersOf(parts);
    if (types.has('boolean')) yield* [true, false];
    if (has('array', 'items', 'prefixItems')) yield* this.#lists(parts, depth);
    yield* oneOfEach;
  }

  /** Returns the schemas that may apply to the same value: a node, what it refers to, and the branches of its unions. */
  #partsOf(node: SchemaNode): SchemaObject[] {
    const parts = new Set<SchemaObject>();
    const add = (one: SchemaNode): void => {
      if (typeof one === 'boolean' || parts.has(one)) return;
      parts.add(one);
      if (one.$ref !== undefined) add(nodeAt(this.#graph, one.$ref));
      for (const inner of subschemasInPlace(one)) add(inner);
    };
    add(node);
    return [...parts];
  }

  *#objects(parts: readonly SchemaObject[], depth: number): Generator<unknown> {
    const schemas = new Map<string, SchemaNode[]>();
    for (const { properties = {}, required = [], dependentRequired = {} } of parts) {
      for (const [name, schema] of Object.entries(properties))
        schemas.set(name, [...(schemas.get(name) ?? []), schema]);
      for (const name of [required, ...Object.values(dependentRequired as Record<string, string[]>)].flat())
        if (!schemas.has(name)) schemas.set(name, []);
    }
    const options = Array.from(schemas, ([name, all]) => ({
      name,
      values: firstDistinct(
        all.length === 0 ? oneOfEach : all.flatMap((one) => this.values(one, depth + 1)),
        most[depth + 1] ?? 1,
      ),
    }));
    const others = parts.flatMap(({ additionalProperties }) =>
      additionalProperties === undefined ? [] : this.values(additionalProperties, depth + 1),
    );
    const sets = [schemas, ...parts.map(({ properties }) => new Map(Object.entries(properties ?? {})))];
    const bases = sets
      .filter(({ size }) => size > 0)
      .map((names) =>
        Object.fromEntries(
          options.flatMap(({ name, values }) => (names.has(name) ? [[name, values[0]]] : [])),
        ),
      );
    for (const base of firstDistinct(bases, maxBases) as Record<string, unknown>[]) {
      yield* subsets(base);
      for (const value of [...oneOfEach, ...others]) yield { ...base, x_other: value };
      for (const { name, values } of options) for (const value of values) yield { ...base, [name]: value };
    }
    yield {};
    for (const value of [...oneOfEach, ...others]) yield { x_other: value };
  }

  *#lists(parts: readonly SchemaObject[], depth: number): Generator<unknown> {
    const items = parts.flatMap((one) => (one.items === undefined ? [] : this.values(one.items, depth + 1)));
    const fills = items.length > 0 ? items : oneOfEach;
    for (const { prefixItems = [] } of parts) {
      const options = prefixItems.map((one) => this.values(one, depth + 1));
      const first = options.map(([value]) => value);
      yield first;
      yield first.slice(0, -1);
      for (const fill of oneOfEach) yield [...first, fill];
      for (const [i, values] of options.entries()) for (const value of values) yield first.with(i, value);
    }
    for (const length of [1, 0, 2, ...boundsOf(parts, ['minItems', 'maxItems'])])
      yield Array.from({ length }, () => fills[0]);
    for (const fill of fills) yield [fill];
    for (const fill of fills) yield [fills[0], fill];
  }
}

function namedValues({ enum: values = [], const: value, default: usual }: SchemaObject): unknown[] {
  return [...values, value, usual].filter((named) => named !== undefined);
}

function textsOf(parts: readonly SchemaObject[]): string[] {
  return [...texts, ...boundsOf(parts, ['minLength', 'maxLength']).map((length) => 'a'.repeat(length))];
}

function numbersOf(parts: readonly SchemaObject[]): number[] {
  const limits = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
  const bounds = parts.flatMap((part) => limits.flatMap((limit) => numberIn(part, limit)));
  return [1, 0, -1, 1.5, ...bounds.flatMap((bound) => [bound, bound - 1, bound + 1])];
}

/** Returns lengths at and beside the bounds that these keywords set. */
function boundsOf(parts: readonly SchemaObject[], keywords: readonly string[]): number[] {
  const bounds = parts.flatMap((part) => keywords.flatMap((keyword) => numberIn(part, keyword)));
  return bounds
    .flatMap((bound) => [bound, bound - 1, bound + 1])
    .filter((length) => length >= 0 && length <= maxLength);
}

function numberIn(part: SchemaObject, keyword: string): number[] {
  const value = part[keyword];
  return typeof value === 'number' ? [value] : [];
}

/** Returns an object with each subset of its properties, or, of many, without each single one. */
function subsets(whole: Record<string, unknown>): Record<string, unknown>[] {
  const entries = Object.entries(whole);
  if (entries.length > maxForSubsets)
    return [whole, ...entries.map((_, i) => Object.fromEntries(entries.toSpliced(i, 1)))];
  const all = 2 ** entries.length - 1;
  return Array.from({ length: all + 1 }, (_, i) =>
    Object.fromEntries(entries.filter((_, at) => ((all - i) >> at) & 1)),
  );
}

/** Returns the first values that differ, at most `limit`. */
function firstDistinct(values: Iterable<unknown>, limit: number): unknown[] {
  const found = new Map<string, unknown>();
  for (const value of values) {
    found.set(JSON.stringify(value), value);
    if (found.size === limit) break;
  }
  return [...found.values()];
}
