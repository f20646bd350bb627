import type { Writable } from 'node:stream';

/** The number of waiting characters from which on lines are written without waiting for the end of the turn. */
const writeAt = 64 * 1024;

/**
 * Writes the lines of one turn of the event loop at once. They leave when the turn's promise jobs are done, before
 * anything else is read. Lines for a stream that has ended are dropped.
 */
export class LineWriter {
  readonly #stream: Writable;
  #text = '';

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** True if the reader is behind. Further lines are accepted and kept in memory. */
  get isFull(): boolean {
    return this.#stream.writableNeedDrain;
  }

  /** The number of bytes that wait to be written; the lines of this turn count by their characters. */
  get waitingBytes(): number {
    return this.#stream.writableLength + this.#text.length;
  }

  /** Takes a line, without its line end. */
  write(line: string): void {
    if (this.#text === '') process.nextTick(() => this.flush());
    this.#text += `${line}\n`;
    if (this.#text.length >= writeAt) this.flush();
  }

  /** Writes the waiting lines at once. */
  flush(): void {
    const text = this.#text;
    this.#text = '';
    if (text !== '' && this.#stream.writable) this.#stream.write(text);
  }

  /** Resolves when all lines have left, or never will. */
  written(): Promise<void> {
    this.flush();
    return new Promise((resolve) => this.#stream.write('', () => resolve()));
  }

  /** Called whenever everything that waited has been written. */
  onDrained(callback: () => void): void {
    this.#stream.on('drain', callback);
  }
}
