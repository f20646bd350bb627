import { SignalboxError } from '../signalbox-error.ts';
import { bodyLimits } from './limits.ts';

/** The JSON that a reader accepts. `maxLength` is in UTF-16 units, `maxDepth` counts nested arrays and objects. */
export interface JsonLimits {
  maxLength: number;
  maxDepth: number;
}

/**
 * Parses JSON after checking its length and depth, so that hostile JSON costs one scan and no recursion.
 * Throws `SignalboxError` `bad_body` with the reason.
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

const quote = 34;
const backslash = 92;

/** Counts the deepest nesting of `[` and `{` outside strings; stops one past `stopAt`. */
function jsonDepth(text: string, stopAt: number): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) {
      i = stringEnd(text, i);
    } else if (c === 91 || c === 123) {
      depth++;
      if (depth > deepest) deepest = depth;
      if (deepest > stopAt) return deepest;
    } else if (c === 93 || c === 125) {
      depth--;
    }
  }
  return deepest;
}

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
