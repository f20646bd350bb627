/** Keeps the end of a stream of bytes. However small its pieces are, adding one costs no more than copying it twice. */
export class KeptEnd {
  readonly #most: number;
  /** At most twice as long as what is kept, so that what is kept is seldom moved. */
  #buffer = Buffer.alloc(0);
  #length = 0;
  #total = 0;

  /** `most`: how many bytes are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The bytes that were added so far. */
  get total(): number {
    return this.#total;
  }

  add(chunk: Buffer): void {
    const part = chunk.subarray(-this.#most);
    if (this.#length + part.length > this.#buffer.length) this.#makeRoom(part.length);
    part.copy(this.#buffer, this.#length);
    this.#length += part.length;
    this.#total += chunk.length;
  }

  /** Returns what is kept. It is valid until the next piece is added. */
  bytes(): Buffer {
    return this.#buffer.subarray(Math.max(0, this.#length - this.#most), this.#length);
  }

  #makeRoom(bytes: number): void {
    const kept = this.bytes();
    const size = Math.min(2 * this.#most, 2 * (kept.length + bytes));
    const target = size > this.#buffer.length ? Buffer.alloc(size) : this.#buffer;
    kept.copy(target);
    this.#buffer = target;
    this.#length = kept.length;
  }
}
