import { isJsonObject } from '@signalbox/protocol';
import { canonicalText } from '../json/canonical-text.ts';
import type { SchemaObject } from './schema-graph.ts';

/** Tells whether `type`, `enum` and `const` of a schema allow a value. */
export function allowsValue({ type, enum: values, const: only }: SchemaObject, value: unknown): boolean {
  if (type !== undefined && ![type].flat().some((each) => isOfType(value, each))) return false;
  if (values && !values.some((each) => isEqual(each, value))) return false;
  return only === undefined || isEqual(only, value);
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const areContainers = typeof a === 'object' && typeof b === 'object' && a !== null && b !== null;
  return areContainers && canonicalText(a) === canonicalText(b);
}
