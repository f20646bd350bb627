import type { Writable } from 'node:stream';

/** The number of waiting characters from which on lines are written without waiting for the end of the turn. */
const writeAt = 64 * 1024;

/**
 * Writes the lines of one turn of the event loop at once. They leave when the turn's promise jobs are done, before
 * anything else is read.
 */
export class LineWriter {
  readonly #stream: Writable;
  #text = '';
  #isFull = false;

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => {
      this.#isFull = false;
    });
  }

  /** True if the reader is behind. Further lines are accepted and kept in memory. */
  get isFull(): boolean {
    return this.#isFull;
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
    if (text === '') return;
    this.#text = '';
    if (!this.#stream.write(text)) this.#isFull = true;
  }
}
