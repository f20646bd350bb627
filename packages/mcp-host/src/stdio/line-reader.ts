import { SignalboxError } from '@signalbox/protocol';

const newline = 10;

/** The longest line a server may write: 32 MiB. */
export const defaultMaxLineBytes = 32 * 1024 * 1024;

/** Cuts a stream of bytes into lines of UTF-8 text. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes = defaultMaxLineBytes) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, without their line ends. Throws `SignalboxError` `line_too_long` past the cap. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#take());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      this.#parts = [];
      throw new SignalboxError('line_too_long', `wrote a line of more than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    const end = line.at(-1) === 13 ? line.length - 1 : line.length;
    return line.toString('utf8', 0, end);
  }
}
