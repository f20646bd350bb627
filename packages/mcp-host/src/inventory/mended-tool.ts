import { isJsonObject, type Tool, toolSchema } from '@signalbox/protocol';
import { compileProblem, mendedSchema, schemaProblem } from '../argument-check/index.ts';
import { type Mended, mended } from './mending.ts';

/**
 * Makes a tool that all official clients accept of one that a server sent. Its `inputSchema` becomes the schema of an object. An
 * `outputSchema` that clients can't compile is left out, and so is a hint that is no boolean: without it, a tool looks less safe.
 */
export function mendedTool(sent: unknown): Mended<Tool> {
  if (!isJsonObject(sent)) return mended(toolSchema, sent);
  const places: string[] = [];
  const changed = (place: string): void => void places.push(place);
  const inputSchema = objectSchema(sent.inputSchema, changed);
  const problem = isJsonObject(inputSchema) ? schemaProblem(inputSchema) : undefined;
  if (problem !== undefined) return { problem: `inputSchema: it is no JSON Schema: ${problem}` };
  const outputSchema = outputOf(sent.outputSchema, changed);
  if (places.length === 0) return mended(toolSchema, sent);
  const { outputSchema: _sent, ...rest } = sent;
  const tool = { ...rest, inputSchema, ...(outputSchema !== undefined && { outputSchema }) };
  return mended(toolSchema, tool, { changed: places });
}

/** Makes the schema of the arguments the schema of an object, which arguments always are. */
function objectSchema(sent: unknown, changed: (place: string) => void): unknown {
  const place = 'inputSchema';
  if (sent === undefined || sent === null || sent === true) {
    changed(place);
    return { type: 'object' };
  }
  const schema = withPlainProperties(mendedSchema(sent, place, changed), place, changed);
  if (!isJsonObject(schema)) return schema;
  const { type } = schema;
  if (type !== undefined && !(Array.isArray(type) && type.includes('object'))) return schema;
  changed(`${place}.type`);
  return { ...schema, type: 'object' };
}

function outputOf(sent: unknown, changed: (place: string) => void): unknown {
  if (sent === undefined) return undefined;
  const place = 'outputSchema';
  const schema = withPlainProperties(mendedSchema(sent, place, changed), place, changed);
  if (isJsonObject(schema) && compileProblem(schema) === undefined) return schema;
  changed(place);
  return undefined;
}

/** Writes the boolean schemas of properties as objects: not all clients know booleans there. */
function withPlainProperties(schema: unknown, at: string, changed: (place: string) => void): unknown {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return schema;
  const { properties } = schema;
  const booleans = Object.entries(properties).filter(([, property]) => typeof property === 'boolean');
  if (booleans.length === 0) return schema;
  for (const [name] of booleans) changed(`${at}.properties.${name}`);
  const plain = booleans.map(([name, property]) => [name, property ? {} : { not: {} }] as const);
  return { ...schema, properties: { ...properties, ...Object.fromEntries(plain) } };
}
