/**
 * `text` as JSON, as `JSON.stringify` writes it. Most texts here are names and ids, which need no escaping: to look is
 * cheaper than the call.
 */
export function jsonText(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Control characters, quote, backslash, and lone surrogates, which are among what isn't ASCII.
    if (code < 0x20 || code === 0x22 || code === 0x5c || code > 0x7e) return JSON.stringify(text);
  }
  return `"${text}"`;
}

export function jsonTextOrNull(text: string | null | undefined): string {
  return text == null ? 'null' : jsonText(text);
}

/** `value` as JSON: null if it isn't finite, so that the text it is part of can be read in any case. */
export function jsonNumber(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
