import type { Database, Statement } from 'better-sqlite3';

/** Numbers taken from the database at a time; those left of a block are skipped at the next start. */
const blockSize = 10_000;

/**
 * Gives out numbers that are never used twice, whatever becomes of the rows that carried them: a whole block is
 * marked as used in the transaction that takes its first number.
 */
export class SequenceNumbers {
  readonly #read: Statement<[], number>;
  readonly #reserve: Statement<[number]>;
  #next = 0;
  #reserved = 0;

  constructor(db: Database) {
    this.#read = db.prepare<[], number>(`SELECT value FROM meta WHERE key = 'seq_reserved'`).pluck();
    this.#reserve = db.prepare(`UPDATE meta SET value = ? WHERE key = 'seq_reserved'`);
    this.reload();
  }

  /** Must be called within a transaction. */
  next(): number {
    if (this.#next > this.#reserved) {
      this.#reserved += blockSize;
      this.#reserve.run(this.#reserved);
    }
    return this.#next++;
  }

  /** After a rollback, which may have undone a reservation. */
  reload(): void {
    this.#reserved = this.#read.get() ?? 0;
    this.#next = this.#reserved + 1;
  }
}
