import { SignalboxError } from '../signalbox-error.ts';
import { bodyLimits } from './body-limits.ts';
import { isExactNumber, longNumber, readJson } from './exact-json.ts';

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
 * Parses JSON like {@link readJson} after checking its length, depth and nodes, so that hostile JSON costs one scan, no recursion and no
 * memory. Throws a `SignalboxError` with the code `bad_body` if a bound is exceeded or the text is not JSON.
 */
export function parseJson(text: string, limits: JsonLimits = bodyLimits): unknown {
  const problem = jsonProblem(text, limits);
  if (problem !== undefined) throw new SignalboxError('bad_body', problem);
  try {
    return longNumber.test(text) ? readJson(text) : JSON.parse(text);
  } catch (cause) {
    throw new SignalboxError('bad_body', 'the text is not JSON', { cause });
  }
}

/**
 * Returns the first name that an object in a JSON text has twice; `undefined` if there is none. A parsed text has only the last of the
 * values; another reader may take the first one. A text that equals what `JSON.stringify` makes of it has no such name.
 */
export function repeatedName(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  let string = '';
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === openBrace) open.push(new Set());
    else if (c === openBracket) open.push(undefined);
    else if (c === closeBrace || c === closeBracket) open.pop();
    else if (c === quote) {
      const start = i;
      i = stringEnd(text, start);
      string = text.slice(start, i + 1);
    } else if (c === colon) {
      // Outside strings each colon follows a name.
      const name = JSON.parse(string) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

/** Says of a JSON text that an object in it has a name twice. */
export function repeatedNameText(name: string): string {
  return `has the name ${JSON.stringify(name)} twice in one object, so that readers may take different values; write each name once`;
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
      // Most strings end at the next quote, which is found here without a further call.
      const end = text.indexOf('"', i + 1);
      i = end < 0 || text.charCodeAt(end - 1) === backslash ? stringEnd(text, i) : end;
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

/** Returns true if a JSON value is an object, and neither null, an array nor an {@link ExactNumber}. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}
