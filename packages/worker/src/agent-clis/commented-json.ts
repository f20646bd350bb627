import { isJsonObject } from '@signalbox/protocol';

// A string or comment that has no end reaches to the end of the text, so that no text is searched more than once.
const strings = String.raw`"[^"\\]*(?:\\[\s\S][^"\\]*)*"?`;
const comments = new RegExp(String.raw`${strings}|//[^\r\n]*|/\*[\s\S]*?(?:\*/|$)`, 'g');
const trailingCommas = new RegExp(String.raw`${strings}|,(?=\s*[\]}])`, 'g');

/** Parses JSON as editors write it: with comments and trailing commas. Throws `SyntaxError` as `JSON.parse` does. */
export function parseCommentedJson(text: string): unknown {
  const plain = text.replace(/^\uFEFF/, '').replace(comments, withoutComment);
  return JSON.parse(plain.replace(trailingCommas, (found) => (found === ',' ? ' ' : found)));
}

function withoutComment(found: string): string {
  const isComment = found.startsWith('//') || (/^\/\*[\s\S]*\*\/$/.test(found) && found.length > 3);
  return isComment ? ' ' : found;
}

/** Returns a value that is a JSON object, and `undefined` for any other value. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  return isJsonObject(value) ? value : undefined;
}
