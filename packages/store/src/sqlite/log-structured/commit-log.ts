import type { Database, Statement } from 'better-sqlite3';
import type { MetaTable } from '../inbox-store/meta-table.ts';
import { decodeRecord, type EncodedRecord, RecordEncoder, type RecordReader } from './record-codec.ts';

/** The damage that was found when the log was read. */
export interface LogDamage {
  /** The numbers of commits whose records are missing. */
  missing: { first: number; last: number }[];
  /** The numbers of commits whose records are partly unreadable. */
  damaged: number[];
}

/**
 * The records of commits, one row each. A record is kept until all messages of its commit are in segments. Commits are numbered without a
 * gap, so that a missing record is noticed. Transactions are the caller's.
 */
export class CommitLog {
  /** The operations of the current commit. */
  readonly record = new RecordEncoder();
  /** The number of the current commit, which only the log changes. It is a plain field because it is read for each message. */
  number = 1;
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

  /** Writes the record of the current commit, if it has any operation. */
  write(): void {
    if (this.record.isEmpty) return;
    const { entries, bodies } = this.record.take(this.number);
    this.#insert.run(this.number, entries, bodies);
    this.number++;
  }

  /** Drops all records up to a commit. That may be the current one: its further operations belong to another commit. */
  drop(upTo: number): void {
    if (upTo === this.number) {
      this.record.clear();
      this.number++;
    }
    this.#drop.run(upTo);
    this.#meta.set('log_dropped', upTo);
  }

  /** Drops all records, and continues after a commit that was certainly written, although its record may be missing. */
  restartAfter(written: number): void {
    this.#drop.run(Number.MAX_SAFE_INTEGER);
    this.#meta.set('log_dropped', written);
    this.number = written + 1;
  }

  /** Reads all records, the oldest first. During the operations of a commit, `number` is its number. */
  replay(reader: RecordReader): LogDamage {
    const damage: LogDamage = { missing: [], damaged: [] };
    const dropped = this.#meta.number('log_dropped');
    this.record.clear();
    let next = dropped === undefined ? undefined : dropped + 1;
    for (const { number, ...record } of this.#all.iterate()) {
      if (next !== undefined && number > next) damage.missing.push({ first: next, last: number - 1 });
      this.number = number;
      if (!decodeRecord(record, number, reader)) damage.damaged.push(number);
      next = number + 1;
    }
    this.number = next ?? 1;
    return damage;
  }
}
