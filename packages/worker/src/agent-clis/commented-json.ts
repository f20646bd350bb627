import { isJsonObject } from '@signalbox/protocol';
/**
 * Parses JSON as editors write it: with comments and trailing commas. Throws `SyntaxError` as `JSON.parse` does.
 */
export function parseCommentedJson(text: string): unknown {
  const strings = String.raw`"(?:[^"\\]|\\.)*"`;
  const comments = new RegExp(`${strings}|//[^\\r\\n]*|/\\*[\\s\\S]*?\\*/`, 'g');
  const trailingCommas = new RegExp(`${strings}|,(?=\\s*[\\]}])`, 'g');
  const onlyStrings = (found: string): string => (found.startsWith('"') ? found : ' ');
  return JSON.parse(
    text
      .replace(/^\uFEFF/, '')
      .replace(comments, onlyStrings)
      .replace(trailingCommas, onlyStrings),
  );
}

/** Returns a JSON object as it is, and `undefined` for any other value. */
export function asObject(value: unknown): Record<string, unknown> | undefined {
  return isJsonObject(value) ? value : undefined;
}
