import type { Database, Statement } from 'better-sqlite3';
import { decodeRecord, type EncodedRecord, RecordEncoder, type RecordReader } from './record-codec.ts';

/** The record of each commit, one row each, until all messages that the commit put are in segments. */
export class CommitLog {
  /** The operations of the commit that is under way. */
  readonly record = new RecordEncoder();
  /** Number of the commit that is under way. */
  #number = 1;
  readonly #insert: Statement<[number: number, entries: string, bodies: string]>;
  readonly #all: Statement<[], EncodedRecord & { number: number }>;
  readonly #drop: Statement<[upTo: number]>;

  constructor(db: Database) {
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
    const { entries, bodies } = this.record.take();
    this.#insert.run(this.#number, entries, bodies);
    this.#number++;
  }

  /** Drops all records up to a commit, which may be the one that is under way. */
  drop(upTo: number): void {
    if (upTo === this.#number) this.record.clear();
    this.#drop.run(upTo);
  }

  /** Reads all records, the oldest first; `number` is the commit's during its operations. */
  replay(reader: RecordReader): void {
    this.record.clear();
    for (const { number, ...record } of this.#all.all()) {
      this.#number = number;
      decodeRecord(record, reader);
      this.#number = number + 1;
    }
  }
}
