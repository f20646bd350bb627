import { bodyLimits, isJsonObject, jsonSize, readJson } from '@signalbox/protocol';
import { canonicalText } from '../json/canonical-text.ts';
import { nodeAt, type SchemaGraph, type SchemaNode, type SchemaObject } from '../schema/schema-graph.ts';
import { allowsValue } from '../schema/value-keywords.ts';
import type { SchemaValidator } from '../validator/schema-validator.ts';
import type { StepMeter } from '../validator/step-meter.ts';
import { losslessForm } from './lossless-form.ts';

const charactersPerStep = 1_000;
/** The steps of parsing one value of a JSON text, and of checking that no part of it is lost. */
const stepsPerNode = 4;

/**
 * Rewrites the parts of a value that don't fit a schema in their {@link losslessForm}, if the schema asks for that form. A property that may
 * be left out and is null, where its schema refuses null, is left out, and one that is missing gets its default. Parts that fit stay the
 * same objects. If no branch of a union fits, a branch is taken only if all branches that could be made to fit lead to the same
 * value. The result may still be invalid.
 */
export class Coercion {
  readonly #graph: SchemaGraph;
  readonly #validator: SchemaValidator;
  readonly #meter: StepMeter;
  /** Results by schema and value: otherwise a recursive union would compute the same ones again and again. */
  readonly #known = new Map<SchemaObject, Map<unknown, unknown>>();

  constructor(graph: SchemaGraph, validator: SchemaValidator, meter: StepMeter) {
    this.#graph = graph;
    this.#validator = validator;
    this.#meter = meter;
  }

  /** Returns the value in the form that fits best. Throws `OutOfSteps`. */
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
    value = this.#converted(node, value);
    if (Array.isArray(value)) value = this.#items(node, value);
    else if (isJsonObject(value)) value = this.#properties(node, value);
    for (const part of node.allOf ?? []) value = this.fit(part, value);
    if (node.anyOf) value = this.#union(node.anyOf, value, (accepting) => accepting > 0);
    if (node.oneOf) value = this.#union(node.oneOf, value, (accepting) => accepting === 1);
    if (node.if !== undefined) {
      const branch = this.#validator.accepts(node.if, value) ? node.then : node.else;
      if (branch !== undefined) value = this.fit(branch, value);
    }
    return value;
  }

  #converted(node: SchemaObject, value: unknown): unknown {
    this.#meter.spend(node.enum?.length ?? 0);
    if (allowsValue(node, value)) return value;
    if (typeof value === 'string') this.#meter.spend(stepsToRead(value));
    const other = losslessForm(value);
    return other !== undefined && allowsValue(node, other) ? other : value;
  }

  #items({ prefixItems = [], items = true }: SchemaObject, values: unknown[]): unknown[] {
    const fitted = values.map((value, at) => this.fit(prefixItems[at] ?? items, value));
    return fitted.some((value, at) => value !== values[at]) ? fitted : values;
  }

  #properties(node: SchemaObject, values: Record<string, unknown>): Record<string, unknown> {
    const required = new Set(node.required);
    const fittedEntries: [string, unknown][] = [];
    let isChanged = false;
    for (const [name, value] of Object.entries(values)) {
      let fitted = value;
      const schemas = this.#schemasFor(node, name);
      for (const schema of schemas) fitted = this.fit(schema, fitted);
      if (fitted !== value) isChanged = true;
      // Models write null for what they leave out.
      if (fitted === null && !required.has(name) && schemas.some((schema) => this.#refusesNull(schema)))
        isChanged = true;
      else fittedEntries.push([name, fitted]);
    }
    for (const name of required) {
      const value = Object.hasOwn(values, name) ? undefined : defaultOf(node.properties, name);
      if (value === undefined) continue;
      isChanged = true;
      fittedEntries.push([name, readJson(JSON.stringify(value))]);
    }
    // Defined, not assigned: a property called `__proto__` is an ordinary one.
    let result = isChanged ? Object.fromEntries(fittedEntries) : values;
    for (const [name, schema] of Object.entries(node.dependentSchemas ?? {})) {
      if (Object.hasOwn(result, name)) result = this.fit(schema, result) as Record<string, unknown>;
    }
    return result;
  }

  #refusesNull(node: SchemaNode): boolean {
    if (typeof node === 'boolean') return false;
    this.#meter.spend(1);
    const refuses = (part: SchemaNode): boolean => this.#refusesNull(part);
    return (
      !allowsValue(node, null) ||
      (node.$ref !== undefined && refuses(nodeAt(this.#graph, node.$ref))) ||
      node.allOf?.some(refuses) === true ||
      node.anyOf?.every(refuses) === true ||
      node.oneOf?.every(refuses) === true
    );
  }

  #schemasFor({ properties = {}, patternProperties = {}, additionalProperties }: SchemaObject, name: string) {
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

  /** Fits a value to a union. `suffices` tells whether this number of accepting branches satisfies the union. */
  #union(branches: SchemaNode[], value: unknown, suffices: (accepting: number) => boolean): unknown {
    const fits = (candidate: unknown) =>
      suffices(branches.filter((branch) => this.#validator.accepts(branch, candidate)).length);
    if (fits(value)) return value;
    const candidates = new Map<string, unknown>();
    for (const branch of branches) {
      const candidate = this.fit(branch, value);
      if (candidate === value || !this.#validator.accepts(branch, candidate)) continue;
      const text = canonicalText(candidate);
      this.#meter.spend(Math.ceil(text.length / charactersPerStep));
      candidates.set(text, candidate);
    }
    const [candidate] = candidates.values();
    return candidates.size === 1 && fits(candidate) ? candidate : value;
  }
}

/** Returns the default of a property; `undefined` if it has none. */
function defaultOf(properties: SchemaObject['properties'], name: string): unknown {
  const schema = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return typeof schema === 'object' ? schema.default : undefined;
}

/** Estimates the steps of reading the JSON in a text. All texts of one call draw on the same steps. */
function stepsToRead(text: string): number {
  const nodes = /^\s*[[{]/.test(text) ? jsonSize(text, bodyLimits).nodes : 1;
  return Math.ceil(text.length / charactersPerStep) + stepsPerNode * (nodes - 1);
}
