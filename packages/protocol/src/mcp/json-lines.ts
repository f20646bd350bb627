import { SignalboxError } from '../signalbox-error.ts';

/**
 * Writes a value as JSON on one line. JSON may hold the separators U+2028 and U+2029 unescaped, but some readers take them for the end of a
 * line, so they are escaped.
 */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value);
  return /[\u2028\u2029]/.test(text)
    ? text.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
    : text;
}

/** The longest line that a `JsonLineReader` accepts by default: 32 MiB. */
const defaultMaxLineBytes = 32 * 1024 * 1024;
const lineFeed = 10;
const encoder = new TextEncoder();

/** Splits the chunks of a stream into lines of UTF-8 text. It parses no JSON: each of its users treats a bad line in its own way. */
export class JsonLineReader {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The beginning of the line whose end has not arrived yet, and its length in bytes. */
  #rest = '';
  #restBytes = 0;

  constructor(maxBytes = defaultMaxLineBytes) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the lines that `chunk` completes, without their line ends. Throws `SignalboxError` `line_too_long` when a line,
   * complete or not, is longer than the limit; the reader must not be used after that.
   */
  push(chunk: Uint8Array | string): string[] {
    const bytes = typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
    this.#checkLengths(bytes);
    const text = this.#decoder.decode(bytes, { stream: true });
    const lastEnd = bytes.lastIndexOf(lineFeed);
    if (lastEnd < 0) {
      this.#rest += text;
      this.#restBytes += bytes.length;
      return [];
    }
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    this.#restBytes = bytes.length - lastEnd - 1;
    for (let i = 0; i < lines.length; i++) lines[i] = withoutCarriageReturn(lines[i]!);
    return lines;
  }

  /** Checks the first line end always, and the others only in a chunk that is large enough to hold a whole line over the limit. */
  #checkLengths(bytes: Uint8Array): void {
    let end = bytes.indexOf(lineFeed);
    this.#checkLength(this.#restBytes + (end < 0 ? bytes.length : end));
    if (bytes.length <= this.#maxBytes) return;
    while (end >= 0) {
      const start = end + 1;
      end = bytes.indexOf(lineFeed, start);
      this.#checkLength((end < 0 ? bytes.length : end) - start);
    }
  }

  #checkLength(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    this.#rest = '';
    throw new SignalboxError('line_too_long', `wrote a line of more than ${this.#maxBytes} bytes`);
  }
}

function withoutCarriageReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
