/** A JSON Schema of dialect 2020-12 that refers only to the nodes of its own {@link SchemaGraph}. */
export type SchemaNode = boolean | SchemaObject;

/** The keywords that are read here; the validator reads the others. */
export interface SchemaObject {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  required?: string[];
  properties?: Record<string, SchemaNode>;
  patternProperties?: Record<string, SchemaNode>;
  additionalProperties?: SchemaNode;
  dependentSchemas?: Record<string, SchemaNode>;
  prefixItems?: SchemaNode[];
  items?: SchemaNode;
  allOf?: SchemaNode[];
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  if?: SchemaNode;
  then?: SchemaNode;
  else?: SchemaNode;
  [keyword: string]: unknown;
}

/** What `$ref` texts begin with. */
export const nodePrefix = '#/$defs/';

/** A schema taken apart: `root` and every target of a reference, every branch of a union and every `if` is a node. */
export interface SchemaGraph {
  root: string;
  nodes: ReadonlyMap<string, SchemaObject>;
  patterns: ReadonlyMap<string, LinearPattern>;
  /** How many schema objects there are in all. */
  objects: number;
  /** Patterns that have no linear-time form; they are not in the nodes any more. */
  unchecked: readonly string[];
}

/** A regular expression whose cost is linear in the text. */
export interface LinearPattern {
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** Steps that matching it in a text is worth at worst. */
  cost(text: string): number;
}

/** The node a reference leads to. */
export function nodeAt(graph: SchemaGraph, ref: string): SchemaObject {
  return graph.nodes.get(ref.slice(nodePrefix.length))!;
}

/** Why a schema can't be used. */
export class SchemaProblem extends Error {
  override name = 'SchemaProblem';
}
