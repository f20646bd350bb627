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

/** A record whose bodies are to be kept. */
export interface KeptRecord extends EncodedRecord {
  number: number;
  /** The bytes of these bodies. */
  kept: number;
}

/**
 * The records of commits, one row each. A record is kept until all messages of its commit are in segments, and until the bodies that are to
 * be kept were taken from it. Commits are numbered without a gap, so that a missing record is noticed. Transactions are the caller's.
 */
export class CommitLog {
  /** The operations of the current commit. */
  readonly record = new RecordEncoder();
  /** The number of the current commit, which only the log changes. It is a plain field because it is read for each message. */
  number = 1;
  /** The bytes of the current commit's bodies that are to be kept. */
  kept = 0;
  /** The same of all records from which these bodies were not taken. */
  keptBytes = 0;
  readonly #meta: MetaTable;
  readonly #insert: Statement<[number: number, kept: number, entries: string, bodies: Buffer]>;
  readonly #all: Statement<[after: number], EncodedRecord & { number: number }>;
  readonly #drop: Statement<[after: number, upTo: number, keptUpTo: number]>;
  readonly #clear: Statement<[]>;
  readonly #toKeep: Statement<[after: number], KeptRecord>;
  readonly #keptBytes: Statement<[after: number], number>;
  readonly #dropKept: Statement<[upTo: number]>;

  constructor(db: Database, meta: MetaTable) {
    this.#meta = meta;
    this.#insert = db.prepare('INSERT INTO commit_log VALUES (?, ?, ?, ?)');
    this.#all = db.prepare('SELECT number, entries, bodies FROM commit_log WHERE number > ? ORDER BY number');
    this.#drop = db.prepare(
      'DELETE FROM commit_log WHERE number > ? AND number <= ? AND (kept = 0 OR number <= ?)',
    );
    this.#clear = db.prepare('DELETE FROM commit_log');
    this.#toKeep = db.prepare(
      'SELECT number, kept, entries, bodies FROM commit_log WHERE number > ? AND kept > 0 ORDER BY number',
    );
    this.#keptBytes = db
      .prepare<[number], number>('SELECT coalesce(sum(kept), 0) FROM commit_log WHERE number > ?')
      .pluck();
    this.#dropKept = db.prepare('DELETE FROM commit_log WHERE number <= ?');
  }

  /** Writes the record of the current commit, if it has any operation. */
  write(): void {
    if (this.record.isEmpty) return;
    const { entries, bodies } = this.record.take(this.number);
    this.#insert.run(this.number, this.kept, entries, bodies);
    this.keptBytes += this.kept;
    this.kept = 0;
    this.number++;
  }

  /** Drops all records up to a commit. That may be the current one: its further operations belong to another commit. */
  drop(upTo: number): void {
    if (upTo === this.number) {
      if (this.kept > 0) this.write();
      else {
        this.record.clear();
        this.number++;
      }
    }
    this.#drop.run(this.#dropped, upTo, this.#taken);
    this.#meta.set('log_dropped', upTo);
  }

  /** Drops all records, and continues after a commit that was certainly written, although its record may be missing. */
  restartAfter(written: number): void {
    this.#clear.run();
    this.#meta.set('log_dropped', written);
    this.number = written + 1;
  }

  /** Reads all records that were not dropped, the oldest first. During the operations of a commit, `number` is its number. */
  replay(reader: RecordReader): LogDamage {
    const damage: LogDamage = { missing: [], damaged: [] };
    const dropped = this.#meta.number('log_dropped');
    this.record.clear();
    this.kept = 0;
    this.keptBytes = this.#keptBytes.get(this.#taken) ?? 0;
    let next = dropped === undefined ? undefined : dropped + 1;
    for (const { number, ...record } of this.#all.iterate(dropped ?? 0)) {
      if (next !== undefined && number > next) damage.missing.push({ first: next, last: number - 1 });
      this.number = number;
      if (!decodeRecord(record, number, reader)) damage.damaged.push(number);
      next = number + 1;
    }
    this.number = next ?? 1;
    return damage;
  }

  /** Reads the records whose bodies are to be kept and were not taken yet, the oldest first. */
  toKeep(): Iterable<KeptRecord> {
    return this.#toKeep.iterate(this.#taken);
  }

  /** Notes that the bodies which are to be kept, of so many bytes, were taken from all records up to a commit. */
  tookKept(upTo: number, bytes: number): void {
    this.keptBytes -= bytes;
    this.#meta.set('log_kept', upTo);
    this.#dropKept.run(Math.min(upTo, this.#dropped));
  }

  /** The number of the last commit whose bodies were taken. */
  get #taken(): number {
    return this.#meta.number('log_kept') ?? 0;
  }

  get #dropped(): number {
    return this.#meta.number('log_dropped') ?? 0;
  }
}
