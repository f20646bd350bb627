/** A mark, and the number of a read. */
const pattern = /^[A-Za-z0-9_-]{8}\.[1-9]\d*$/;

/** Numbers the reads of one inbox, so that an ack can name the last read that it covers. A cursor of another process is refused. */
export class InboxCursors {
  readonly #mark: string;
  #reads = 0;

  /** Makes the cursors of one process. `mark` distinguishes them from those of others. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** Returns the number for one more read. */
  next(): { read: number; cursor: string } {
    const read = ++this.#reads;
    return { read, cursor: `${this.#mark}.${read}` };
  }

  /** Returns true if another process may have made a cursor. */
  isForeign(cursor: string): boolean {
    return pattern.test(cursor) && !cursor.startsWith(`${this.#mark}.`);
  }

  /** Returns the number of the read that a cursor came with. */
  readOf(cursor: string): number | undefined {
    const [mark, number, ...rest] = cursor.split('.');
    const read = Number(number);
    if (mark !== this.#mark || rest.length > 0 || !Number.isInteger(read)) return undefined;
    return read >= 1 && read <= this.#reads ? read : undefined;
  }
}
