/**
 * A tool's schema, as `readSchema` has read it into nodes. The root, every target of a reference, every branch of a union and every `if` is
 * a node, so that each can be used alone.
 */
export interface SchemaGraph {
  /** The name of the node with which the schema begins. */
  root: string;
  nodes: ReadonlyMap<string, SchemaObject>;
  patterns: ReadonlyMap<string, LinearPattern>;
  /** The number of schema objects in all nodes together. */
  objects: number;
  /** Patterns that have no linear-time form. They were left out of the nodes. */
  unchecked: readonly string[];
}

/** A JSON Schema of dialect 2020-12 that refers only to the nodes of its own {@link SchemaGraph}. */
export type SchemaNode = boolean | SchemaObject;

/** A schema that is not a boolean, with the keywords that are read here; the validator reads the others. */
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

/** A regular expression that runs in time linear in the text. */
export interface LinearPattern {
  /** Tells whether it matches anywhere in the text. */
  test(text: string): boolean;
  /** Returns the steps that matching it in this text takes at worst. */
  cost(text: string): number;
}

/** The beginning of every `$ref` in a graph; the name of the node follows. */
export const nodePrefix = '#/$defs/';

/** Returns the node to which a reference leads. */
export function nodeAt(graph: SchemaGraph, ref: string): SchemaObject {
  return graph.nodes.get(ref.slice(nodePrefix.length))!;
}

/** Thrown for a schema that can't be used; the message gives the reason. */
export class SchemaProblem extends Error {
  override name = 'SchemaProblem';
}
