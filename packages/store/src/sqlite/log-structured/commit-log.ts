import type { Database, Statement } from 'better-sqlite3';
import type { MetaTable } from '../inbox-store/meta-table.ts';
import { decodeRecord, type EncodedRecord, RecordEncoder, type RecordReader } from './record-codec.ts';

/** The damage that was found when the log was read. */
export interface LogDamage {
  /** The numbers of commits of which the record is missing. */
  missing: { first: number; last: number }[];
  /** The numbers of commits of which parts can't be read. */
  damaged: number[];
}

/**
 * The record of each commit, one row each, until all messages that the commit put are in segments. Commits are numbered without a
 * gap, so that a missing record is noticed. Transactions are the caller's.
 */
export class CommitLog {
  /** The operations of the commit that is under way. */
  readonly record = new RecordEncoder();
  /** Number of the commit that is under way. */
  #number = 1;
  readonly #meta: MetaTable;
  readonly #insert: Statement<[number: number, entries: string, bodies: Buffer]>;
  readonly #all: Statement<[], EncodedRecord & { number: number }>;
  readonly #drop: Statement<[upTo: number]>;

  constructor(db: Database, meta: MetaTable) {
    this.#meta = meta;
    this.#insert = db.prepare('INSERT INTO commit_log VALUES (?, ?, ?)');
    this.#all = db.prepare('SELECT number, entries, bodies FROM commit_log ORDER BY number');
    this.#drop = db.prepare('DELETE FROM commit_log WHERE number <= ?');
  }

  get number(): number {
    return this.#number;
  }

  /** Writes the record of the commit that is under way, if it has any operation. */
  write(): void {
    if (this.record.isEmpty) return;
    const { entries, bodies } = this.record.take(this.#number);
    this.#insert.run(this.#number, entries, bodies);
    this.#number++;
  }

  /** Drops all records up to a commit, which may be the one that is under way: what it does from now on is another one. */
  drop(upTo: number): void {
    if (upTo === this.#number) {
      this.record.clear();
      this.#number++;
    }
    this.#drop.run(upTo);
    this.#meta.set('log_dropped', upTo);
  }

  /** Drops all records, and goes on after a commit that is known to have been written, although its record may be gone. */
  restartAfter(written: number): void {
    this.#drop.run(Number.MAX_SAFE_INTEGER);
    this.#meta.set('log_dropped', written);
    this.#number = written + 1;
  }

  /** Reads all records, the oldest first; `number` is the commit's during its operations. */
  replay(reader: RecordReader): LogDamage {
    const damage: LogDamage = { missing: [], damaged: [] };
    const dropped = this.#meta.number('log_dropped');
    this.record.clear();
    let next = dropped === undefined ? undefined : dropped + 1;
    for (const { number, ...record } of this.#all.iterate()) {
      if (next !== undefined && number > next) damage.missing.push({ first: next, last: number - 1 });
      this.#number = number;
      if (!decodeRecord(record, number, reader)) damage.damaged.push(number);
      next = number + 1;
    }
    this.#number = next ?? 1;
    return damage;
  }
}
