import type { Database, Statement } from 'better-sqlite3';

/** The messages of an inbox from `first` to `last`, which all are pending in one segment. */
export interface PendingRange {
  readonly inbox: string;
  readonly first: number;
  readonly last: number;
  readonly segment: number;
}

/**
 * Which messages of segments are pending, as ranges of sequence numbers of an inbox. Settling a message cuts it out of its
 * range, so that segments need not change. Ranges of one inbox never overlap. Transactions are the caller's.
 */
export class PendingRanges {
  /** The range that was read last, as it is now: the next message to be cut out is mostly the first one of it. */
  #last: PendingRange | undefined;
  /** Whether `first` of the last range has to be saved. */
  #isChanged = false;
  readonly #insert: Statement<[PendingRange]>;
  readonly #delete: Statement<[inbox: string, last: number]>;
  readonly #setFirst: Statement<[first: number, inbox: string, last: number]>;
  readonly #next: Statement<[inbox: string, afterSeq: number], PendingRange>;
  readonly #head: Statement<[inbox: string], number | null>;
  readonly #nextInbox: Statement<[after: string], string | null>;

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT INTO pending_range VALUES (@inbox, @last, @first, @segment)');
    this.#delete = db.prepare('DELETE FROM pending_range WHERE inbox = ? AND last = ?');
    this.#setFirst = db.prepare('UPDATE pending_range SET first = ? WHERE inbox = ? AND last = ?');
    this.#next = db.prepare('SELECT * FROM pending_range WHERE inbox = ? AND last > ? ORDER BY last LIMIT 1');
    this.#head = db
      .prepare<[string], number | null>('SELECT max(last) FROM pending_range WHERE inbox = ?')
      .pluck();
    this.#nextInbox = db
      .prepare<[string], string | null>('SELECT min(inbox) FROM pending_range WHERE inbox > ?')
      .pluck();
  }

  add(range: PendingRange): void {
    this.#insert.run(range);
  }

  remove({ inbox, last }: PendingRange): void {
    this.#delete.run(inbox, last);
    this.forgetChanges();
  }

  /** Cuts one message out of a range; `before` and `behind` are the messages next to it within the range. */
  cut(range: PendingRange, before: number | undefined, behind: number | undefined): void {
    if (behind === undefined) {
      this.remove(range);
    } else {
      this.#last = { ...range, first: behind };
      this.#isChanged = true;
    }
    if (before !== undefined) this.add({ ...range, last: before });
  }

  /** The range that holds a sequence number. */
  holding(inbox: string, seq: number): PendingRange | undefined {
    const range = this.next(inbox, seq - 1);
    return range && range.first <= seq ? range : undefined;
  }

  /** The first range of an inbox that ends after a sequence number. */
  next(inbox: string, afterSeq: number): PendingRange | undefined {
    const last = this.#last;
    if (last?.inbox === inbox && afterSeq >= last.first - 1 && afterSeq < last.last) return last;
    this.save();
    this.#last = this.#next.get(inbox, afterSeq);
    return this.#last;
  }

  /** Writes what has changed. One of the last steps of a transaction. */
  save(): void {
    if (this.#isChanged && this.#last)
      this.#setFirst.run(this.#last.first, this.#last.inbox, this.#last.last);
    this.#isChanged = false;
  }

  /** Forgets what has changed, after a rollback. */
  forgetChanges(): void {
    this.#last = undefined;
    this.#isChanged = false;
  }

  /** The highest sequence number of an inbox, 0 for none. */
  headSeq(inbox: string): number {
    return this.#head.get(inbox) ?? 0;
  }

  /** Names of inboxes with ranges, in order, after a name. */
  inboxes(after: string, limit: number): string[] {
    const names: string[] = [];
    for (let name = this.#nextInbox.get(after); name != null && names.length < limit; ) {
      names.push(name);
      name = this.#nextInbox.get(name);
    }
    return names;
  }
}
