import { SignalboxError } from '../signalbox-error.ts';

/** How much JSON a reader accepts. `maxLength` in UTF-16 units, `maxDepth` in nested containers. */
export interface JsonLimits {
  maxLength: number;
  maxDepth: number;
}

/** Limits for message bodies: 4 MiB and 64 levels. */
export const bodyLimits: JsonLimits = { maxLength: 4 * 1024 * 1024, maxDepth: 64 };

/**
 * Parses JSON after checking its size and depth, so that a bomb costs one scan and no recursion.
 * Throws `SignalboxError` `bad_body` with the reason.
 */
export function parseJson(text: string, limits: JsonLimits = bodyLimits): unknown {
  if (text.length > limits.maxLength) {
    throw new SignalboxError(
      'bad_body',
      `the JSON text is ${text.length} characters long; at most ${limits.maxLength} are read`,
    );
  }
  if (!hasFewBrackets(text, limits.maxDepth) && jsonDepth(text, limits.maxDepth) > limits.maxDepth) {
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

/** At most `most` opening ones, wherever they stand: found without a look at each character. */
function hasFewBrackets(text: string, most: number): boolean {
  let left = most;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) if (--left < 0) return false;
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) if (--left < 0) return false;
  return true;
}

/** Deepest nesting of `[` and `{` outside strings; stops counting one past `stopAt`. */
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

const plainText = /^[ !#-[\]-~]*$/;

/** Printable ASCII that stands in JSON as it is. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && plainText.test(value);
}

/** A text as JSON. */
export function jsonText(text: string): string {
  return isPlainText(text) ? `"${text}"` : JSON.stringify(text);
}
