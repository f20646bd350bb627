import { SignalboxError } from '../signalbox-error.ts';
import { bodyLimits } from './body-limits.ts';

/** The bounds of the JSON that a reader accepts; {@link bodyLimits} gives their units. */
export interface JsonLimits {
  maxLength: number;
  maxDepth: number;
  maxNodes: number;
}

/** The depth of a JSON text, and the number of its values, names and containers. */
export interface JsonSize {
  depth: number;
  nodes: number;
}

/**
 * Parses JSON after checking its length, depth and nodes, so that hostile JSON costs one scan, no recursion and no memory. Throws a
 * `SignalboxError` with the code `bad_body` if a bound is exceeded or the text is not JSON.
 */
export function parseJson(text: string, limits: JsonLimits = bodyLimits): unknown {
  const problem = jsonProblem(text, limits);
  if (problem !== undefined) throw new SignalboxError('bad_body', problem);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SignalboxError('bad_body', 'the text is not JSON', { cause });
  }
}

/**
 * Tells whether an object in a JSON text has one name twice. `value` is what the text was parsed to, which has only the last of the values;
 * another reader may take the first one.
 */
export function repeatsName(text: string, value: unknown): boolean {
  let names = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = stringEnd(text, i);
    // Outside strings each colon follows a name.
    else if (c === colon) names++;
  }
  return names !== countNames(value);
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce((sum, one) => sum + countNames(one), Array.isArray(value) ? 0 : inner.length);
}

/** Returns the bound that a JSON text exceeds, as a sentence that names the figure; `undefined` if it exceeds none. */
export function jsonProblem(text: string, limits: JsonLimits = bodyLimits): string | undefined {
  const { maxLength, maxDepth, maxNodes } = limits;
  if (text.length > maxLength) {
    return `the JSON text is ${text.length} characters long; at most ${maxLength} are read`;
  }
  const { depth, nodes } = jsonSize(text, limits);
  if (depth > maxDepth) return `the JSON text nests deeper than ${maxDepth} levels`;
  if (nodes > maxNodes) {
    return `the JSON text has more than ${maxNodes} values and names; send less at once, or the data as one string`;
  }
  return undefined;
}

const quote = '"'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const openBracket = '['.charCodeAt(0);
const closeBracket = ']'.charCodeAt(0);
const openBrace = '{'.charCodeAt(0);
const closeBrace = '}'.charCodeAt(0);
const comma = ','.charCodeAt(0);
const colon = ':'.charCodeAt(0);

/**
 * Measures JSON text without parsing it, and stops at one more than a bound. `nodes` is one more than the number of `[`, `{`, `,` and
 * `:` outside strings: that is never less than the number of values and names.
 */
export function jsonSize(
  text: string,
  { maxDepth, maxNodes }: Pick<JsonLimits, 'maxDepth' | 'maxNodes'>,
): JsonSize {
  let level = 0;
  let depth = 0;
  let nodes = 1;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) {
      i = stringEnd(text, i);
    } else if (c === comma || c === colon) {
      if (++nodes > maxNodes) break;
    } else if (c === openBracket || c === openBrace) {
      level++;
      if (level > depth) depth = level;
      if (depth > maxDepth || ++nodes > maxNodes) break;
    } else if (c === closeBracket || c === closeBrace) {
      level--;
    }
  }
  return { depth, nodes };
}

/** Returns the index of the quote that ends the string which begins at `start`. */
export function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
}

/** Returns true if a JSON value is an object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
