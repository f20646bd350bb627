import { SignalboxError } from '../signalbox-error.ts';
import { bodyLimits } from './limits.ts';

/** The bounds of the JSON that a reader accepts. `maxLength` is in UTF-16 units, and `maxDepth` counts nested arrays and objects. */
export interface JsonLimits {
  maxLength: number;
  maxDepth: number;
}

/**
 * Parses JSON after checking its length and depth, so that hostile JSON costs one scan and no recursion. Throws a `SignalboxError`
 * with the code `bad_body` if a bound is exceeded or the text is not JSON.
 */
export function parseJson(text: string, limits: JsonLimits = bodyLimits): unknown {
  if (text.length > limits.maxLength) {
    throw new SignalboxError(
      'bad_body',
      `the JSON text is ${text.length} characters long; at most ${limits.maxLength} are read`,
    );
  }
  if (jsonDepth(text, limits.maxDepth) > limits.maxDepth) {
    throw new SignalboxError('bad_body', `the JSON text nests deeper than ${limits.maxDepth} levels`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SignalboxError('bad_body', 'the text is not JSON', { cause });
  }
}

const quote = '"'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const openBracket = '['.charCodeAt(0);
const closeBracket = ']'.charCodeAt(0);
const openBrace = '{'.charCodeAt(0);
const closeBrace = '}'.charCodeAt(0);

/** Counts the deepest nesting of `[` and `{` outside strings. Stops at one more than `stopAt`. */
function jsonDepth(text: string, stopAt: number): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) {
      i = stringEnd(text, i);
    } else if (c === openBracket || c === openBrace) {
      depth++;
      if (depth > deepest) deepest = depth;
      if (deepest > stopAt) return deepest;
    } else if (c === closeBracket || c === closeBrace) {
      depth--;
    }
  }
  return deepest;
}

/** Returns the index of the quote that ends the string which begins at `start`. */
function stringEnd(text: string, start: number): number {
  let at = start;
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return at;
  }
}

/** Tells whether a JSON value is an object, and neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
