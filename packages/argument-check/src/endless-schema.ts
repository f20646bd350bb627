import { nodePrefix, type SchemaGraph, type SchemaNode, SchemaProblem } from './schema-graph.ts';

/** Throws `SchemaProblem` for a schema that applies itself to the same value for ever. */
export function refuseEndless(graph: SchemaGraph): void {
  const state = new Map<string, 'open' | 'done'>();
  const visit = (name: string): void => {
    if (state.get(name) === 'done') return;
    if (state.get(name) === 'open') throw new SchemaProblem('it refers to itself without end');
    state.set(name, 'open');
    for (const next of inPlace(graph.nodes.get(name)!)) visit(next);
    state.set(name, 'done');
  };
  for (const name of graph.nodes.keys()) visit(name);
}

/** The nodes that a schema applies to the very value it is applied to. */
function inPlace(schema: SchemaNode): string[] {
  if (typeof schema === 'boolean') return [];
  const { $ref, allOf = [], anyOf = [], oneOf = [], dependentSchemas = {} } = schema;
  const inner = [
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...Object.values(dependentSchemas),
    ...[schema.not, schema.if, schema.then, schema.else].filter((each) => each !== undefined),
  ] as SchemaNode[];
  return [...($ref === undefined ? [] : [$ref.slice(nodePrefix.length)]), ...inner.flatMap(inPlace)];
}
