/** Puts a prefix before each line of a stream, even if a line comes in several chunks. */
export class LinePrefix {
  readonly #prefix: Buffer;
  #atStart = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Returns a chunk with the prefix before each line that begins in it. */
  apply(chunk: Buffer): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(0x0a, from);
      const to = end < 0 ? chunk.length : end + 1;
      if (this.#atStart) parts.push(this.#prefix);
      parts.push(chunk.subarray(from, to));
      this.#atStart = end >= 0;
      from = to;
    }
    return Buffer.concat(parts);
  }

  /** Returns the line end that an unfinished last line lacks. */
  end(): Buffer {
    const rest = Buffer.from(this.#atStart ? '' : '\n');
    this.#atStart = true;
    return rest;
  }
}
