import type { Database, Statement } from 'better-sqlite3';
import type { Amount } from '../../caps.ts';
import type { SharedFields } from './logged-message.ts';

/** How much is pending in an inbox of one sender. Messages that don't count against their sender are counted apart. */
export interface PendingCount extends Amount {
  inbox: string;
  sender: string;
  isCounted: boolean;
}

type Row = Amount & { inbox: string; sender: string; isCounted: 0 | 1 };

/** Counts what is pending in segments of each sender in each inbox: the messages of a long inbox would take seconds to count. */
export class PendingCounts {
  readonly #read: Statement<[inbox: string], Amount>;
  readonly #all: Statement<[], Row>;
  readonly #add: Statement<
    [inbox: string, sender: string, isCounted: 0 | 1, messages: number, bytes: number]
  >;
  readonly #forget: Statement<[inbox: string, sender: string, isCounted: 0 | 1]>;
  readonly #clear: Statement<[]>;
  /** The changes of this transaction, by inbox, sender and whether they count against the sender. */
  readonly #changes = new Map<string, PendingCount>();
  /** The change that was counted last: the next message of a segment is mostly from the same sender to the same inbox. */
  #last: PendingCount | undefined;

  constructor(db: Database) {
    this.#read = db.prepare(
      `SELECT coalesce(sum(pending), 0) AS messages, coalesce(sum(bytes), 0) AS bytes
       FROM pending_count WHERE inbox = ?`,
    );
    this.#all = db.prepare(
      'SELECT inbox, sender, is_counted AS isCounted, pending AS messages, bytes FROM pending_count',
    );
    this.#add = db.prepare(
      `INSERT INTO pending_count VALUES (?, ?, ?, ?, ?) ON CONFLICT (inbox, sender, is_counted)
       DO UPDATE SET pending = pending + excluded.pending, bytes = bytes + excluded.bytes`,
    );
    this.#clear = db.prepare('DELETE FROM pending_count');
    this.#forget = db.prepare(
      'DELETE FROM pending_count WHERE inbox = ? AND sender = ? AND is_counted = ? AND pending = 0',
    );
  }

  /** What is pending in an inbox. */
  of(inbox: string): Amount {
    this.save();
    return this.#read.get(inbox) ?? { messages: 0, bytes: 0 };
  }

  /** All counts. Call it between transactions. */
  *all(): Iterable<PendingCount> {
    for (const row of this.#all.iterate()) yield { ...row, isCounted: row.isCounted === 1 };
  }

  /** Counts a message that went to a segment (`by` 1) or was taken out of one (-1). */
  count(by: 1 | -1, { inbox, sender, isCounted }: SharedFields, size: number): void {
    let change = this.#last;
    if (change?.inbox !== inbox || change.sender !== sender || change.isCounted !== isCounted)
      change = this.#changeOf(inbox, sender, isCounted);
    change.messages += by;
    change.bytes += by * size;
  }

  /** Writes the changes. One of the last steps of a transaction. */
  save(): void {
    for (const { inbox, sender, isCounted, messages, bytes } of this.#changes.values()) {
      if (messages === 0 && bytes === 0) continue;
      const flag = isCounted ? 1 : 0;
      this.#add.run(inbox, sender, flag, messages, bytes);
      if (messages < 0) this.#forget.run(inbox, sender, flag);
    }
    this.reset();
  }

  /** Forgets all counts. The caller counts again. */
  clear(): void {
    this.reset();
    this.#clear.run();
  }

  /** Forgets the changes, after a rollback. */
  reset(): void {
    this.#changes.clear();
    this.#last = undefined;
  }

  #changeOf(inbox: string, sender: string, isCounted: boolean): PendingCount {
    const key = `${inbox} ${sender} ${isCounted}`;
    const known = this.#changes.get(key);
    const change = known ?? { inbox, sender, isCounted, messages: 0, bytes: 0 };
    if (!known) this.#changes.set(key, change);
    this.#last = change;
    return change;
  }
}
