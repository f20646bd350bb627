import { subschemasInPlace } from './keywords.ts';
import {
  nodeAt,
  type SchemaGraph,
  type SchemaNode,
  type SchemaObject,
  SchemaProblem,
} from './schema-graph.ts';

/** Throws `SchemaProblem` for a schema that applies itself to the same value again and again. */
export function refuseEndless(graph: SchemaGraph): void {
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
