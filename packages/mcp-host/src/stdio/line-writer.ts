import type { Writable } from 'node:stream';

/** Past this many characters of one turn, lines are written without waiting for its end. */
const writeAt = 64 * 1024;

/**
 * Lines of one turn of the event loop in one write. They leave when the turn's promise jobs are done, before anything else
 * is read.
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

  /** Whether the reader is behind: more will be taken, but piles up here. */
  get isFull(): boolean {
    return this.#isFull;
  }

  write(line: string): void {
    if (this.#text === '') process.nextTick(() => this.flush());
    this.#text += `${line}\n`;
    if (this.#text.length >= writeAt) this.flush();
  }

  /** Writes at once what waits. */
  flush(): void {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    if (!this.#stream.write(text)) this.#isFull = true;
  }
}
