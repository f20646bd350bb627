import type { Database, Statement } from 'better-sqlite3';
import type { RecordText } from './record-entry.ts';

/** The statements on records: one row for each commit, as long as some message that came with it is recent. */
export class RecordTable {
  readonly #insert: Statement<[number: number, entries: string, bodies: string]>;
  readonly #all: Statement<[], RecordText & { number: number }>;
  readonly #forget: Statement<[upTo: number]>;

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT INTO record VALUES (?, ?, ?)');
    this.#all = db.prepare('SELECT number, entries, bodies FROM record ORDER BY number');
    this.#forget = db.prepare('DELETE FROM record WHERE number <= ?');
  }

  insert(number: number, { entries, bodies }: RecordText): void {
    this.#insert.run(number, entries, bodies);
  }

  all(): (RecordText & { number: number })[] {
    return this.#all.all();
  }

  forget(upTo: number): void {
    this.#forget.run(upTo);
  }
}
