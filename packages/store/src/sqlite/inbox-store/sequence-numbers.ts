import type { Database, Statement } from 'better-sqlite3';

/** Numbers taken from the database at a time; those left of a block are skipped at the next start. */
const blockSize = 10_000;

/**
 * Gives out numbers that are never used twice, whatever becomes of the rows that carried them: a whole block is marked as
 * used before its first number is. Who lets numbers out of the house has to bring that mark to the disk first.
 */
export class SequenceNumbers {
  readonly #mark: Statement<[number]>;
  #next: number;
  #reserved: number;

  constructor(db: Database) {
    this.#mark = db.prepare(`UPDATE meta SET value = ? WHERE key = 'seq_reserved'`);
    this.#reserved =
      db.prepare<[], number>(`SELECT value FROM meta WHERE key = 'seq_reserved'`).pluck().get() ?? 0;
    this.#next = this.#reserved + 1;
  }

  /** Makes sure of so many numbers; true if a block had to be marked for them. In no transaction that may be rolled back. */
  reserve(count: number): boolean {
    const missing = this.#next + count - 1 - this.#reserved;
    if (missing <= 0) return false;
    const reserved = this.#reserved + Math.max(missing, blockSize);
    this.#mark.run(reserved);
    this.#reserved = reserved;
    return true;
  }

  /** One of the reserved numbers. */
  next(): number {
    if (this.#next > this.#reserved) throw new Error('no sequence number is reserved');
    return this.#next++;
  }
}
