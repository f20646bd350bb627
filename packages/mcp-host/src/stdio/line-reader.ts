import { SignalboxError } from '@signalbox/protocol';

const newline = 10;
const carriageReturn = '\r';

/** The longest line a server may write: 32 MiB. */
export const defaultMaxLineBytes = 32 * 1024 * 1024;

/** Cuts a stream of bytes into lines of UTF-8 text. */
export class LineReader {
  readonly #maxBytes: number;
  /** Of the line that is not complete yet. */
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes = defaultMaxLineBytes) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, without their line ends. Throws `SignalboxError` `line_too_long` past the cap. */
  push(chunk: Buffer): string[] {
    const first = chunk.indexOf(newline);
    const last = first < 0 ? first : chunk.lastIndexOf(newline);
    this.#measure(this.#bytes + (first < 0 ? chunk.length : first));
    if (chunk.length > this.#maxBytes) this.#measureEach(chunk, first);
    // All lines of a chunk become text at once: a call into native code for each would cost more than they do.
    const lines = first < 0 ? [] : this.#complete(chunk, last).split('\n');
    for (let i = 0; i < lines.length; i++) lines[i] = withoutReturn(lines[i]!);
    if (last + 1 < chunk.length) {
      this.#parts.push(last < 0 ? chunk : chunk.subarray(last + 1));
      this.#bytes += chunk.length - last - 1;
    }
    return lines;
  }

  /** What was kept and the chunk up to `last`, as text. */
  #complete(chunk: Buffer, last: number): string {
    if (this.#parts.length === 0) return chunk.toString('utf8', 0, last);
    const whole = Buffer.concat([...this.#parts, chunk.subarray(0, last)]);
    this.#parts = [];
    this.#bytes = 0;
    return whole.toString();
  }

  #measureEach(chunk: Buffer, first: number): void {
    for (let from = first + 1; from < chunk.length; ) {
      const end = chunk.indexOf(newline, from);
      this.#measure((end < 0 ? chunk.length : end) - from);
      if (end < 0) return;
      from = end + 1;
    }
  }

  #measure(bytes: number): void {
    if (bytes <= this.#maxBytes) return;
    this.#parts = [];
    throw new SignalboxError('line_too_long', `wrote a line of more than ${this.#maxBytes} bytes`);
  }
}

function withoutReturn(line: string): string {
  return line.endsWith(carriageReturn) ? line.slice(0, -1) : line;
}
