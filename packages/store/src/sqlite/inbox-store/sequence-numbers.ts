import type { MetaTable } from './meta-table.ts';

/** The count of numbers that are reserved in the database at a time. Unused numbers of a block are skipped at the next start. */
const blockSize = 10_000;

/**
 * Gives out numbers that are never used twice, even if the rows with them are lost: a whole block is marked as used before its first number
 * is given out. The caller must sync that mark before another process learns a number.
 */
export class SequenceNumbers {
  readonly #meta: MetaTable;
  #next: number;
  #reserved: number;

  /** `reserved` is the number up to which numbers may be in use. */
  constructor(meta: MetaTable, reserved: number) {
    this.#meta = meta;
    this.#reserved = reserved;
    this.#next = this.#reserved + 1;
  }

  /**
   * Reserves this many numbers. Returns true if a block had to be marked for them. Call it outside of transactions that may be rolled back.
   */
  reserve(count: number): boolean {
    const missing = this.#next + count - 1 - this.#reserved;
    if (missing <= 0) return false;
    const reserved = this.#reserved + Math.max(missing, blockSize);
    this.#meta.set('seq_reserved', reserved);
    this.#reserved = reserved;
    return true;
  }

  /** Gives out the next of the reserved numbers. */
  next(): number {
    if (this.#next > this.#reserved) throw new Error('no sequence number is reserved');
    return this.#next++;
  }
}
