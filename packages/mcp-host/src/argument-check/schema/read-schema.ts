import { isJsonObject } from '@signalbox/protocol';
import { withRoundedNumbers } from '../json/exact-numbers.ts';
import { type KeywordKind, kindOf, subschemasInPlace } from './keywords.ts';
import { linearPattern } from './linear-pattern.ts';
import { isDraft07, toPresentDialect } from './older-dialects.ts';
import { indexReferences, type References } from './references.ts';
import {
  type LinearPattern,
  nodeAt,
  nodePrefix,
  type SchemaGraph,
  type SchemaNode,
  type SchemaObject,
  SchemaProblem,
} from './schema-graph.ts';

/** The largest schema that is read: characters of JSON, levels of nesting, references, and schema objects. */
const limits = { length: 256 * 1024, depth: 64, references: 1_000, objects: 3_000 };

/** Reads a tool's schema into nodes. Throws `SchemaProblem` if it is not a JSON Schema, is too large, or refers outside itself. */
export function readSchema(document: unknown): SchemaGraph {
  if (!isJsonObject(document)) throw new SchemaProblem('it is no JSON object');
  refuseLarge(document);
  const graph = new SchemaReader(document).read();
  refuseEndless(graph);
  return graph;
}

function refuseLarge(document: Record<string, unknown>): void {
  const { length } = textOf(document);
  if (length > limits.length) {
    throw new SchemaProblem(`it is ${length} characters long; at most ${limits.length} are read`);
  }
  if (isDeeper(document, limits.depth)) {
    throw new SchemaProblem(`it nests deeper than ${limits.depth} levels`);
  }
}

function textOf(document: unknown): string {
  try {
    return JSON.stringify(document);
  } catch (cause) {
    throw new SchemaProblem('it is no JSON', { cause });
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The pattern that matches every name. */
const anyName = '';

class SchemaReader {
  readonly #document: Record<string, unknown>;
  readonly #draft07: boolean;
  readonly #references: References;
  readonly #names = new Map<object, string>();
  /** Nodes that have a name and were not read yet, with their places in the document. */
  readonly #queue: { schema: Record<string, unknown>; at: string }[] = [];
  readonly #nodes = new Map<string, SchemaObject>();
  readonly #patterns = new Map<string, LinearPattern>([[anyName, linearPattern(anyName)!]]);
  readonly #unchecked = new Set<string>();
  /** A keyword of the schema, for example `not`, under which a skipped check would refuse correct values. */
  #inverting: string | undefined;
  #objects = 0;
  #refs = 0;

  constructor(document: Record<string, unknown>) {
    this.#document = document;
    this.#draft07 = isDraft07(document);
    this.#references = indexReferences(document);
  }

  read(): SchemaGraph {
    const root = this.#nameOf(this.#document, '');
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#nodes.set(this.#names.get(next.schema)!, this.#readObject(next.schema, next.at));
    }
    const unchecked = [...this.#unchecked];
    if (unchecked.length > 0 && this.#inverting !== undefined) {
      throw new SchemaProblem(
        `it has '${this.#inverting}' and a pattern that can't be checked: ${unchecked[0]}`,
      );
    }
    return { root, nodes: this.#nodes, patterns: this.#patterns, objects: this.#objects, unchecked };
  }

  #nameOf(schema: Record<string, unknown>, at: string): string {
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    const name = `n${this.#names.size}`;
    this.#names.set(schema, name);
    this.#queue.push({ schema, at });
    return name;
  }

  /** Reads one schema object. `at` is its place in the document, for messages. */
  #readObject(schema: Record<string, unknown>, at: string): SchemaObject {
    if (++this.#objects > limits.objects) {
      throw new SchemaProblem(`it has more than ${limits.objects} schema objects`);
    }
    const read: SchemaObject = {};
    for (const [keyword, given] of Object.entries(toPresentDialect(schema, this.#draft07))) {
      if (given === undefined) continue;
      if (referenceKeywords.has(keyword)) this.#addReference(read, given, schema);
      const kind = kindOf(keyword);
      if (!kind) continue;
      // Values are compared as doubles. A default is sent.
      const value = kind.holds === undefined && keyword !== 'default' ? withRoundedNumbers(given) : given;
      const place = `${at}/${keyword}`;
      if (!kind.accepts(value)) throw new SchemaProblem(`'${place}' must be ${kind.mustBe}`);
      if (invertingKeywords.has(keyword)) this.#inverting = keyword;
      const readValue = this.#readValue(kind, value, place);
      // A reference beside the keyword may have added a value there.
      if (keyword === 'allOf') read.allOf = [...(read.allOf ?? []), ...(readValue as SchemaNode[])];
      else if (readValue !== undefined) read[keyword] = readValue;
    }
    return read;
  }

  #addReference(to: SchemaObject, ref: unknown, from: object): void {
    if (typeof ref !== 'string') throw new SchemaProblem('a reference must be a string');
    if (++this.#refs > limits.references) {
      throw new SchemaProblem(`it has more than ${limits.references} references`);
    }
    const target = this.#references.target(ref, from);
    if (typeof target !== 'boolean' && !isJsonObject(target)) {
      throw new SchemaProblem(`it refers to '${ref}', which is no schema`);
    }
    const node = this.#node(target, ref);
    if (to.$ref === undefined && typeof node === 'object') to.$ref = node.$ref!;
    else to.allOf = [...(to.allOf ?? []), node];
  }

  /** Reads the value of a keyword. Returns `undefined` if it can't be checked. */
  #readValue({ holds, asNodes, pattern }: KeywordKind, value: unknown, at: string): unknown {
    if (pattern === 'value') return this.#isLinear(value as string) ? value : undefined;
    const read = (schema: unknown, place: string) =>
      asNodes ? this.#node(schema, place) : this.#inline(schema, place);
    switch (holds) {
      case undefined:
        return value;
      case 'schema':
        return read(value, at);
      case 'schemas':
        return (value as unknown[]).map((schema, i) => read(schema, `${at}/${i}`));
      case 'map of schemas': {
        const entries = Object.entries(value as object).map(([name, schema]): [string, SchemaNode] =>
          // A property that may match an unchecked pattern passes here and counts as known.
          pattern === 'names' && !this.#isLinear(name)
            ? [anyName, true]
            : [name, read(schema, `${at}/${name}`)],
        );
        // Defined, not assigned: a property called `__proto__` is an ordinary one.
        return Object.fromEntries(entries);
      }
    }
  }

  #inline(schema: unknown, at: string): SchemaNode {
    return typeof schema === 'boolean' ? schema : this.#readObject(schema as Record<string, unknown>, at);
  }

  #node(schema: unknown, at: string): SchemaNode {
    if (typeof schema === 'boolean') return schema;
    return { $ref: `${nodePrefix}${this.#nameOf(schema as Record<string, unknown>, at)}` };
  }

  #isLinear(source: string): boolean {
    if (this.#patterns.has(source)) return true;
    const pattern = linearPattern(source);
    if (pattern) this.#patterns.set(source, pattern);
    else this.#unchecked.add(source);
    return pattern !== undefined;
  }
}

const referenceKeywords = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const invertingKeywords = new Set(['not', 'if', 'oneOf', 'maxContains']);

/** Throws `SchemaProblem` for a schema that applies itself to the same value again and again. */
function refuseEndless(graph: SchemaGraph): void {
  const state = new Map<SchemaObject, 'open' | 'done'>();
  const visit = (schema: SchemaNode): void => {
    if (typeof schema === 'boolean' || state.get(schema) === 'done') return;
    if (state.get(schema) === 'open') throw new SchemaProblem('it refers to itself without end');
    state.set(schema, 'open');
    if (schema.$ref !== undefined) visit(nodeAt(graph, schema.$ref));
    for (const inner of subschemasInPlace(schema)) visit(inner);
    state.set(schema, 'done');
  };
  for (const node of graph.nodes.values()) visit(node);
}
