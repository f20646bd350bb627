/** Puts a prefix before each line of a stream that comes in pieces; a line that goes on gets none in its middle. */
export class LinePrefix {
  readonly #prefix: Buffer;
  #atStart = true;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

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

  /** What ends an unfinished last line. */
  end(): Buffer {
    const rest = Buffer.from(this.#atStart ? '' : '\n');
    this.#atStart = true;
    return rest;
  }
}
