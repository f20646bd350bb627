import type { Database, Statement } from 'better-sqlite3';

/** Some of what is pending in an inbox, of one sender. */
export interface PendingCount {
  sender: string;
  pending: number;
  bytes: number;
}

interface Change extends PendingCount {
  inbox: string;
}

/** How many rows the table of messages holds of each sender in each inbox, so that nobody has to count them. */
export class PendingCounts {
  readonly #read: Statement<[inbox: string], PendingCount>;
  readonly #add: Statement<[inbox: string, sender: string, pending: number, bytes: number]>;
  readonly #forget: Statement<[inbox: string, sender: string]>;
  /** Of the transaction that is under way. */
  readonly #changes = new Map<string, Change>();

  constructor(db: Database) {
    this.#read = db.prepare('SELECT sender, pending, bytes FROM pending_count WHERE inbox = ?');
    this.#add = db.prepare(
      `INSERT INTO pending_count VALUES (?, ?, ?, ?) ON CONFLICT (inbox, sender)
       DO UPDATE SET pending = pending + excluded.pending, bytes = bytes + excluded.bytes`,
    );
    this.#forget = db.prepare('DELETE FROM pending_count WHERE inbox = ? AND sender = ? AND pending = 0');
  }

  of(inbox: string): PendingCount[] {
    this.save();
    return this.#read.all(inbox);
  }

  /** A row came (`by` 1) or went (-1). */
  count(by: 1 | -1, inbox: string, sender: string, size: number): void {
    const key = `${inbox} ${sender}`;
    const change = this.#changes.get(key);
    if (change) {
      change.pending += by;
      change.bytes += by * size;
    } else this.#changes.set(key, { inbox, sender, pending: by, bytes: by * size });
  }

  /** The last step of a transaction. */
  save(): void {
    for (const { inbox, sender, pending, bytes } of this.#changes.values()) {
      if (pending === 0 && bytes === 0) continue;
      this.#add.run(inbox, sender, pending, bytes);
      if (pending < 0) this.#forget.run(inbox, sender);
    }
    this.#changes.clear();
  }

  /** After a rollback. */
  reset(): void {
    this.#changes.clear();
  }
}
