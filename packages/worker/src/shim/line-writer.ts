import type { Writable } from 'node:stream';

/** Writes lines to a stream: those of one turn of the event loop leave in one write. */
export class LineWriter {
  readonly #stream: Writable;
  #isCorked = false;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** True if the stream accepts no more until it has drained. */
  get isFull(): boolean {
    return this.#stream.writableNeedDrain;
  }

  /** The number of bytes that wait to be written. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  write(line: string): void {
    const stream = this.#stream;
    if (!stream.writable) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      stream.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        stream.uncork();
      });
    }
    stream.write(`${line}\n`);
  }

  /** Resolves when all lines have left, or never will. */
  written(): Promise<void> {
    return new Promise((resolve) => this.#stream.write('', () => resolve()));
  }

  /** Called whenever everything that waited has been written. */
  onDrained(callback: () => void): void {
    this.#stream.on('drain', callback);
  }
}
