/** Names the reads of one inbox, so that an ack can say how far it goes. A cursor of another process names none. */
export class InboxCursors {
  readonly #mark: string;
  #reads = 0;

  /** `mark` tells this inbox's cursors from those of others, before and after. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  next(): { read: number; cursor: string } {
    const read = ++this.#reads;
    return { read, cursor: `${this.#mark}.${read}` };
  }

  /** The number of the read that a cursor came with. */
  readOf(cursor: string): number | undefined {
    const [mark, number, ...rest] = cursor.split('.');
    const read = Number(number);
    if (mark !== this.#mark || rest.length > 0 || !Number.isInteger(read)) return undefined;
    return read >= 1 && read <= this.#reads ? read : undefined;
  }
}
