import type { Tool } from '@signalbox/protocol';
import { keptResultField } from './preview.ts';

/** Keywords that hold definitions, to which references lead from the root of a schema. */
const definitions = ['$defs', 'definitions'];
/** References that still lead to the same place when the schema is nested in another one: to definitions, and to the root. */
const movable = /^#(?:\/(?:\$defs|definitions)\/.*)?$/;

const previewSchema = {
  type: 'object',
  properties: { [keptResultField]: { type: 'object' } },
  required: [keptResultField],
};

const made = new WeakMap<Tool, Tool>();

/**
 * Returns a tool whose large results are kept: its output schema also allows the data of a preview. A schema that cannot be nested in
 * another one is left out, so that no client compares a preview with it.
 */
export function withKeptResults(tool: Tool): Tool {
  if (!tool.outputSchema) return tool;
  let changed = made.get(tool);
  if (!changed) {
    const { outputSchema, ...rest } = tool;
    const either = eitherSchema(outputSchema);
    changed = { ...rest, ...(either && { outputSchema: either }) };
    made.set(tool, changed);
  }
  return changed;
}

function eitherSchema(schema: Record<string, unknown>): Record<string, unknown> | undefined {
  if (!isMovable(schema)) return undefined;
  const root = Object.entries(schema).filter(([key]) => key === '$schema' || definitions.includes(key));
  const inner = Object.entries(schema).filter(([key]) => key !== '$schema' && !definitions.includes(key));
  return {
    ...Object.fromEntries(root),
    // MCP demands it at the root of a schema of objects.
    ...(schema.type === 'object' && { type: 'object' }),
    anyOf: [Object.fromEntries(inner), previewSchema],
  };
}

function isMovable(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isMovable);
  return Object.entries(value).every(([key, one]) => {
    if (key === '$ref' || key === '$dynamicRef') return typeof one === 'string' && movable.test(one);
    // References are relative to the schema that has an id.
    if (key === '$id' || key === '$dynamicAnchor' || key === '$recursiveRef') return typeof one !== 'string';
    return isMovable(one);
  });
}
