import { exactNumber, longNumber } from '@signalbox/protocol/json-lines';

/** The bounds for showing one value on a line. A page with deeper or larger values would be slow, and nobody could read it. */
const most = { depth: 32, values: 5000 };

/**
 * Reads a JSON text. Returns `undefined` if it is not JSON, if it is too deep or too large to be laid out, or if a number in it would be
 * changed.
 */
export function readableJson(text: string): unknown {
  // A text that is too deep must not be parsed at all: parsing it takes one nested function call for each level.
  if (depthOf(text) > most.depth) return undefined;
  try {
    const value: unknown = longNumber.test(text) ? JSON.parse(text, unchanged) : JSON.parse(text);
    return valuesIn(value) > most.values ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Throws if a number was changed when it was read, and in a browser that does not tell how it was written. */
function unchanged(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number') return value;
  if (context?.source === undefined || exactNumber(context.source)) throw new Error('a number was changed');
  return value;
}

/** Returns the depth to which objects and lists are nested. */
function depthOf(json: string): number {
  let [depth, deepest] = [0, 0];
  const withoutTexts = json.replace(/"(?:[^"\\]|\\.)*"/gs, '');
  for (const character of withoutTexts.matchAll(/[[\]{}]/g)) {
    depth += character[0] === '[' || character[0] === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function valuesIn(value: unknown): number {
  if (value === null || typeof value !== 'object') return 1;
  return Object.values(value).reduce((sum: number, one) => sum + valuesIn(one), 1);
}
