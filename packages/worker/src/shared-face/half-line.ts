const firstBytes = 1024;

/**
 * The beginning of a line whose end has not come. It takes at most twice the memory of its bytes, for pieces of any size, and copies each
 * byte a few times at most.
 */
export class HalfLine {
  #buffer = Buffer.alloc(0);
  #bytes = 0;

  /** The number of bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    const needed = this.#bytes + piece.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length, firstBytes));
      this.#buffer.copy(larger, 0, 0, this.#bytes);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#bytes);
    this.#bytes = needed;
  }

  /** Returns all bytes, and begins a new line. */
  take(): Buffer {
    const line = this.#buffer.subarray(0, this.#bytes);
    this.#buffer = Buffer.alloc(0);
    this.#bytes = 0;
    return line;
  }
}
