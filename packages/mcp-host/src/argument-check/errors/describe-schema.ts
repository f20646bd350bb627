import { subschemas } from '../schema/keywords.ts';
import { nodeAt, type SchemaGraph, type SchemaNode, type SchemaObject } from '../schema/schema-graph.ts';
import { cut, jsonText, listed } from './text.ts';

const maxNames = 40;
const maxValues = 20;
const maxLevels = 3;
const maxLength = 1_500;

/** Lists the parameters that an object schema names, e.g. `path: string (required), mode: "r" | "w"`. */
export function describeParameters(graph: SchemaGraph, node: SchemaNode): string {
  return cut(members(graph, node, maxLevels), maxLength);
}

/** Describes the type that a schema asks for, e.g. `array of string`. */
export function describeType(graph: SchemaGraph, node: SchemaNode): string {
  return cut(typeOf(graph, node, 2), maxLength);
}

/** Collects the properties that a schema names directly, through references and in its branches. */
export function propertiesOf(graph: SchemaGraph, node: SchemaNode): Map<string, SchemaNode> {
  const parts = partsOf(graph, node, ['allOf', 'anyOf', 'oneOf']);
  return new Map(parts.flatMap(({ properties = {} }) => Object.entries(properties)));
}

/** Returns the schema itself and those that it reaches by references and by these keywords, each once. */
function partsOf(graph: SchemaGraph, node: SchemaNode, keywords: string[]): SchemaObject[] {
  const found = new Set<SchemaObject>();
  const visit = (part: SchemaNode): void => {
    if (typeof part === 'boolean' || found.has(part)) return;
    found.add(part);
    if (part.$ref !== undefined) visit(nodeAt(graph, part.$ref));
    for (const inner of subschemas(part, keywords)) visit(inner as SchemaNode);
  };
  visit(node);
  return [...found];
}

function members(graph: SchemaGraph, node: SchemaNode, levels: number): string {
  const required = new Set(partsOf(graph, node, ['allOf']).flatMap((part) => part.required ?? []));
  return listed([...propertiesOf(graph, node)], maxNames, ([name, schema]) => {
    const type = typeOf(graph, schema, levels - 1);
    return `${cut(name, 80)}: ${type}${required.has(name) ? ' (required)' : ''}`;
  });
}

function typeOf(graph: SchemaGraph, node: SchemaNode, levels: number): string {
  if (typeof node === 'boolean') return node ? 'any' : 'not allowed';
  const known = node.const !== undefined ? [node.const] : node.enum;
  if (known) return listed(known, maxValues, jsonText, ' | ');
  if (node.type !== undefined) {
    return [node.type]
      .flat()
      .map((type) => containerText(graph, node, type, levels))
      .join(' | ');
  }
  if (levels <= 0) return 'any';
  const union = node.anyOf ?? node.oneOf;
  if (union) return listed(union, maxValues, (each) => typeOf(graph, each, levels - 1), ' | ');
  if (node.$ref !== undefined) return typeOf(graph, nodeAt(graph, node.$ref), levels);
  const parts = (node.allOf ?? []).slice(0, maxValues).map((part) => typeOf(graph, part, levels - 1));
  const stated = parts.find((text) => text !== 'any');
  return stated ?? (node.properties ? containerText(graph, node, 'object', levels) : 'any');
}

function containerText(graph: SchemaGraph, node: SchemaObject, type: string, levels: number): string {
  if (levels <= 0) return type;
  if (type === 'array' && node.prefixItems) {
    return `[${listed(node.prefixItems, maxValues, (each) => typeOf(graph, each, levels - 1))}]`;
  }
  if (type === 'array' && node.items !== undefined) {
    const items = typeOf(graph, node.items, levels - 1);
    return `array of ${items.includes(' | ') ? `(${items})` : items}`;
  }
  const inner = type === 'object' ? members(graph, node, levels) : '';
  return inner === '' ? type : `${type} {${inner}}`;
}
