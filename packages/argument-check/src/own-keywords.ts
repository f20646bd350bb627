import { canonicalText } from './canonical-text.ts';
import { isOfType } from './lossless.ts';
import type { SchemaObject } from './schema-graph.ts';

/** Whether the keywords about the value itself allow it. */
export function allowsValue({ type, enum: values, const: only }: SchemaObject, value: unknown): boolean {
  if (type !== undefined && ![type].flat().some((each) => isOfType(value, each))) return false;
  if (values && !values.some((each) => isSame(each, value))) return false;
  return only === undefined || isSame(only, value);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const areContainers = typeof a === 'object' && typeof b === 'object' && a !== null && b !== null;
  return areContainers && canonicalText(a) === canonicalText(b);
}
