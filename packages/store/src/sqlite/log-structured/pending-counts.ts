import type { Database, Statement } from 'better-sqlite3';

/** How much is pending in an inbox of one sender. */
export interface PendingCount {
  sender: string;
  pending: number;
  bytes: number;
}

interface Change extends PendingCount {
  inbox: string;
}

/** Counts what is pending in segments of each sender in each inbox: the messages of a long inbox would take seconds to count. */
export class PendingCounts {
  readonly #read: Statement<[inbox: string], PendingCount>;
  readonly #add: Statement<[inbox: string, sender: string, pending: number, bytes: number]>;
  readonly #forget: Statement<[inbox: string, sender: string]>;
  readonly #clear: Statement<[]>;
  /** The changes of this transaction, by inbox and sender. */
  readonly #changes = new Map<string, Change>();

  constructor(db: Database) {
    this.#read = db.prepare('SELECT sender, pending, bytes FROM pending_count WHERE inbox = ?');
    this.#add = db.prepare(
      `INSERT INTO pending_count VALUES (?, ?, ?, ?) ON CONFLICT (inbox, sender)
       DO UPDATE SET pending = pending + excluded.pending, bytes = bytes + excluded.bytes`,
    );
    this.#clear = db.prepare('DELETE FROM pending_count');
    this.#forget = db.prepare('DELETE FROM pending_count WHERE inbox = ? AND sender = ? AND pending = 0');
  }

  of(inbox: string): PendingCount[] {
    this.save();
    return this.#read.all(inbox);
  }

  /** Counts a message that went to a segment (`by` 1) or was taken out of one (-1). */
  count(by: 1 | -1, inbox: string, sender: string, size: number): void {
    const key = `${inbox} ${sender}`;
    const change = this.#changes.get(key);
    if (change) {
      change.pending += by;
      change.bytes += by * size;
    } else this.#changes.set(key, { inbox, sender, pending: by, bytes: by * size });
  }

  /** Writes the changes. One of the last steps of a transaction. */
  save(): void {
    for (const { inbox, sender, pending, bytes } of this.#changes.values()) {
      if (pending === 0 && bytes === 0) continue;
      this.#add.run(inbox, sender, pending, bytes);
      if (pending < 0) this.#forget.run(inbox, sender);
    }
    this.#changes.clear();
  }

  /** Forgets all counts. The caller counts again. */
  clear(): void {
    this.reset();
    this.#clear.run();
  }

  /** Forgets the changes, after a rollback. */
  reset(): void {
    this.#changes.clear();
  }
}
