/** Keeps the end of a stream of bytes. Adding a piece of any size costs no more than copying it twice. */
export class KeptEnd {
  readonly #most: number;
  /** The buffer has at most twice the kept size, so that the kept bytes are seldom moved. */
  #buffer = Buffer.alloc(0);
  #length = 0;
  #total = 0;

  /** Creates an empty buffer. `most` is the number of bytes that are kept. */
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

  /** Returns the kept bytes. They are valid until the next piece is added. */
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
