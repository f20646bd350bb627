/** Keeps the last `capacity` bytes of a stream. */
export class ByteRing {
  readonly #bytes: Buffer;
  #total = 0;

  constructor(capacity = 64 * 1024) {
    this.#bytes = Buffer.alloc(capacity);
  }

  /** Adds the next bytes of the stream. */
  push(chunk: Uint8Array): void {
    const capacity = this.#bytes.length;
    const tail = chunk.subarray(Math.max(0, chunk.length - capacity));
    const start = (this.#total + chunk.length - tail.length) % capacity;
    const untilWrap = Math.min(tail.length, capacity - start);
    this.#bytes.set(tail.subarray(0, untilWrap), start);
    this.#bytes.set(tail.subarray(untilWrap), 0);
    this.#total += chunk.length;
  }

  /** True if the first bytes were dropped. */
  get isCut(): boolean {
    return this.#total > this.#bytes.length;
  }

  /** Returns the kept bytes as UTF-8; a character cut at the front reads as a replacement character. */
  text(): string {
    const capacity = this.#bytes.length;
    if (this.#total <= capacity) return this.#bytes.toString('utf8', 0, this.#total);
    const start = this.#total % capacity;
    return Buffer.concat([this.#bytes.subarray(start), this.#bytes.subarray(0, start)]).toString('utf8');
  }
}
