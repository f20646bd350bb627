import { canonicalText } from './canonical-text.ts';
import { isOfType, otherForm } from './lossless.ts';
import { allowsValue } from './own-keywords.ts';
import { nodeAt, type SchemaGraph, type SchemaNode, type SchemaObject } from './schema-graph.ts';
import type { SchemaValidator } from './schema-validator.ts';
import type { StepMeter } from './step-meter.ts';

const charactersPerStep = 1_000;

/**
 * Rewrites what doesn't fit a schema in its {@link otherForm}, wherever that form is what the schema asks for there.
 * What fits stays the very same value; in a union that nothing fits, a branch is taken only if all ways that work come
 * to the same value. The result may still be invalid. Throws `OutOfSteps`.
 */
export class Coercion {
  readonly #graph: SchemaGraph;
  readonly #validator: SchemaValidator;
  readonly #meter: StepMeter;
  /** A recursive union would ask for the same part of the value once per way to get there. */
  readonly #known = new Map<SchemaObject, Map<unknown, unknown>>();

  constructor(graph: SchemaGraph, validator: SchemaValidator, meter: StepMeter) {
    this.#graph = graph;
    this.#validator = validator;
    this.#meter = meter;
  }

  fit(node: SchemaNode, value: unknown): unknown {
    if (typeof node === 'boolean') return value;
    this.#meter.spend(1);
    let results = this.#known.get(node);
    if (!results) {
      results = new Map();
      this.#known.set(node, results);
    }
    if (!results.has(value)) results.set(value, this.#fitted(node, value));
    return results.get(value);
  }

  #fitted(node: SchemaObject, given: unknown): unknown {
    let value = node.$ref === undefined ? given : this.fit(nodeAt(this.#graph, node.$ref), given);
    value = this.#scalar(node, value);
    if (Array.isArray(value)) value = this.#items(node, value);
    else if (isOfType(value, 'object')) value = this.#properties(node, value as Record<string, unknown>);
    for (const part of node.allOf ?? []) value = this.fit(part, value);
    if (node.anyOf) value = this.#union(node.anyOf, value, (accepting) => accepting > 0);
    if (node.oneOf) value = this.#union(node.oneOf, value, (accepting) => accepting === 1);
    if (node.if !== undefined) {
      const branch = this.#validator.accepts(node.if, value) ? node.then : node.else;
      if (branch !== undefined) value = this.fit(branch, value);
    }
    return value;
  }

  #scalar(node: SchemaObject, value: unknown): unknown {
    this.#meter.spend(node.enum?.length ?? 0);
    if (allowsValue(node, value)) return value;
    if (typeof value === 'string') this.#meter.spend(Math.ceil(value.length / charactersPerStep));
    const other = otherForm(value);
    return other !== undefined && allowsValue(node, other) ? other : value;
  }

  #items(node: SchemaObject, values: unknown[]): unknown[] {
    const { prefixItems = [], items = true } = node;
    let copy = values;
    for (const [at, value] of values.entries()) {
      const fitted = this.fit(prefixItems[at] ?? items, value);
      if (fitted === value) continue;
      if (copy === values) copy = [...values];
      copy[at] = fitted;
    }
    return copy;
  }

  #properties(node: SchemaObject, values: Record<string, unknown>): Record<string, unknown> {
    const { dependentSchemas = {} } = node;
    const changed: [string, unknown][] = [];
    for (const [name, value] of Object.entries(values)) {
      let fitted = value;
      for (const schema of this.#schemasOf(node, name)) fitted = this.fit(schema, fitted);
      if (fitted !== value) changed.push([name, fitted]);
    }
    // Defined, not assigned: a property called `__proto__` is one like the others.
    let result = changed.length === 0 ? values : { ...values, ...Object.fromEntries(changed) };
    for (const [name, schema] of Object.entries(dependentSchemas)) {
      if (Object.hasOwn(result, name)) result = this.fit(schema, result) as Record<string, unknown>;
    }
    return result;
  }

  #schemasOf({ properties = {}, patternProperties = {}, additionalProperties }: SchemaObject, name: string) {
    const schemas = Object.hasOwn(properties, name) ? [properties[name]!] : [];
    for (const [pattern, schema] of Object.entries(patternProperties)) {
      if (this.#matches(pattern, name)) schemas.push(schema);
    }
    return schemas.length === 0 && additionalProperties !== undefined ? [additionalProperties] : schemas;
  }

  #matches(source: string, name: string): boolean {
    const pattern = this.#graph.patterns.get(source)!;
    this.#meter.spend(pattern.cost(name));
    return pattern.test(name);
  }

  #union(branches: SchemaNode[], value: unknown, enough: (accepting: number) => boolean): unknown {
    const accepting = (candidate: unknown) =>
      branches.filter((branch) => this.#validator.accepts(branch, candidate)).length;
    if (enough(accepting(value))) return value;
    const ways = new Map<string, unknown>();
    for (const branch of branches) {
      const way = this.fit(branch, value);
      if (way === value || !this.#validator.accepts(branch, way)) continue;
      const text = canonicalText(way);
      this.#meter.spend(Math.ceil(text.length / charactersPerStep));
      ways.set(text, way);
    }
    const [way] = ways.values();
    return ways.size === 1 && enough(accepting(way)) ? way : value;
  }
}
