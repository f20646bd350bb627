import { refuseEndless } from './endless-schema.ts';
import { linearPattern } from './linear-pattern.ts';
import { inPresentWords } from './older-dialects.ts';
import {
  type LinearPattern,
  nodePrefix,
  type SchemaGraph,
  type SchemaNode,
  type SchemaObject,
  SchemaProblem,
} from './schema-graph.ts';
import { isObject, type KeywordKind, keywordKinds, misfit } from './schema-keywords.ts';
import { indexReferences, type References } from './schema-references.ts';

/** How large a schema may be. Characters of JSON, nested containers, references, and schema objects once taken apart. */
export const schemaLimits = { length: 256 * 1024, depth: 64, references: 1_000, objects: 3_000 };

/** Takes a tool's schema apart. Throws `SchemaProblem` for one that is no JSON Schema, too large, or not of one piece. */
export function readSchema(document: unknown): SchemaGraph {
  if (!isObject(document)) throw new SchemaProblem('it is no JSON object');
  refuseLarge(document);
  const reader = new SchemaReader(document);
  const graph = reader.read();
  refuseEndless(graph);
  return graph;
}

function refuseLarge(document: Record<string, unknown>): void {
  const { length } = textOf(document);
  if (length > schemaLimits.length) {
    throw new SchemaProblem(`it is ${length} characters long; at most ${schemaLimits.length} are read`);
  }
  if (isDeeper(document, schemaLimits.depth)) {
    throw new SchemaProblem(`it nests deeper than ${schemaLimits.depth} levels`);
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

const anyName = '';

class SchemaReader {
  readonly #document: Record<string, unknown>;
  readonly #draft07: boolean;
  readonly #references: References;
  readonly #names = new Map<object, string>();
  readonly #queue: { schema: Record<string, unknown>; at: string }[] = [];
  readonly #nodes = new Map<string, SchemaObject>();
  readonly #patterns = new Map<string, LinearPattern>([[anyName, linearPattern(anyName)!]]);
  readonly #unchecked = new Set<string>();
  /** A keyword under which less checking would refuse more. */
  #contrary: string | undefined;
  #objects = 0;
  #refs = 0;

  constructor(document: Record<string, unknown>) {
    this.#document = document;
    this.#draft07 = /draft-0[3-7]/.test(String(document.$schema));
    this.#references = indexReferences(document);
  }

  read(): SchemaGraph {
    const root = this.#nameOf(this.#document, '');
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#nodes.set(this.#names.get(next.schema)!, this.#readObject(next.schema, next.at));
    }
    if (this.#unchecked.size > 0 && this.#contrary !== undefined) {
      throw new SchemaProblem(
        `it has '${this.#contrary}' and a pattern that can't be checked: ${[...this.#unchecked][0]}`,
      );
    }
    return {
      root,
      nodes: this.#nodes,
      patterns: this.#patterns,
      objects: this.#objects,
      unchecked: [...this.#unchecked],
    };
  }

  #nameOf(schema: Record<string, unknown>, at: string): string {
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    const name = `n${this.#names.size}`;
    this.#names.set(schema, name);
    this.#queue.push({ schema, at });
    return name;
  }

  /** `at`: where in the document it stands, for messages. */
  #readObject(schema: Record<string, unknown>, at: string): SchemaObject {
    if (++this.#objects > schemaLimits.objects) {
      throw new SchemaProblem(`it has more than ${schemaLimits.objects} schema objects`);
    }
    const node: SchemaObject = {};
    for (const [keyword, value] of Object.entries(inPresentWords(schema, this.#draft07))) {
      if (value === undefined) continue;
      if (referenceWords.has(keyword)) this.#addReference(node, value, schema);
      const kind = Object.hasOwn(keywordKinds, keyword) ? keywordKinds[keyword] : undefined;
      if (!kind) continue;
      const wrong = misfit(kind, value);
      if (wrong !== undefined) throw new SchemaProblem(`'${at}/${keyword}' ${wrong}`);
      if (contraryWords.has(keyword)) this.#contrary = keyword;
      const read = this.#readValue(kind, value, `${at}/${keyword}`);
      if (keyword === 'allOf') node.allOf = [...(node.allOf ?? []), ...(read as SchemaNode[])];
      else if (read !== undefined) node[keyword] = read;
    }
    return node;
  }

  #addReference(node: SchemaObject, ref: unknown, from: object): void {
    if (typeof ref !== 'string') throw new SchemaProblem('a reference must be a string');
    if (++this.#refs > schemaLimits.references) {
      throw new SchemaProblem(`it has more than ${schemaLimits.references} references`);
    }
    const target = this.#references.target(ref, from);
    if (typeof target !== 'boolean' && !isObject(target)) {
      throw new SchemaProblem(`it refers to '${ref}', which is no schema`);
    }
    const read = this.#node(target, ref);
    if (node.$ref === undefined && typeof read === 'object') node.$ref = read.$ref!;
    else node.allOf = [...(node.allOf ?? []), read];
  }

  #readValue(kind: KeywordKind, value: unknown, at: string): unknown {
    switch (kind) {
      case 'schema':
        return this.#schema(value, at);
      case 'node':
        return this.#node(value, at);
      case 'schemas':
        return (value as unknown[]).map((inner, i) => this.#schema(inner, `${at}/${i}`));
      case 'nodes':
        return (value as unknown[]).map((inner, i) => this.#node(inner, `${at}/${i}`));
      case 'schemaMap':
        return mapped(value, (name, inner) => [name, this.#schema(inner, `${at}/${name}`)]);
      case 'patternMap':
        return mapped(value, (pattern, inner) =>
          // A name that may match is left alone: it passes here and counts as known.
          this.#isLinear(pattern) ? [pattern, this.#schema(inner, `${at}/${pattern}`)] : [anyName, true],
        );
      case 'pattern':
        return this.#isLinear(value as string) ? value : undefined;
      default:
        return value;
    }
  }

  #schema(schema: unknown, at: string): SchemaNode {
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

const referenceWords = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
const contraryWords = new Set(['not', 'if', 'oneOf', 'maxContains']);

/** Defines the properties, so that one called `__proto__` is a property like the others. */
function mapped(map: unknown, entry: (key: string, inner: unknown) => [string, SchemaNode]): unknown {
  return Object.fromEntries(Object.entries(map as object).map(([key, inner]) => entry(key, inner)));
}
