import { randomBytes } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import { rowChecksum } from '../row-checksum.ts';

/** The name of a value that the store keeps once. */
export type MetaKey =
  | 'identity'
  | 'seq_reserved'
  | 'log_dropped'
  | 'log_kept'
  | 'seq_kept'
  | 'seq_worded'
  | 'kept_bytes'
  | 'kept_kinds'
  | 'time'
  | 'proofs'
  | 'restored_at';

/** Single values, each with a checksum. Transactions are the caller's. */
export class MetaTable {
  readonly #get: Statement<[key: MetaKey], { value: string | number; checksum: number }>;
  readonly #set: Statement<[key: MetaKey, value: string | number, checksum: number]>;

  constructor(db: Database) {
    this.#get = db.prepare('SELECT value, checksum FROM meta WHERE key = ?');
    this.#set = db.prepare(
      `INSERT INTO meta VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum`,
    );
  }

  /** Tells whether the value was ever set, damaged or not. */
  has(key: MetaKey): boolean {
    return this.#read(key) !== undefined;
  }

  /** Returns a text; `undefined` if it was never set, or was damaged. */
  text(key: 'time' | 'kept_kinds'): string | undefined {
    const value = this.#read(key);
    return typeof value === 'string' ? value : undefined;
  }

  /** Returns a number, or 0 if it was never set; `undefined` if it was damaged. */
  number(
    key:
      | 'seq_reserved'
      | 'log_dropped'
      | 'log_kept'
      | 'seq_kept'
      | 'seq_worded'
      | 'kept_bytes'
      | 'proofs'
      | 'restored_at',
  ): number | undefined {
    const value = this.#read(key);
    return value === undefined ? 0 : typeof value === 'number' ? value : undefined;
  }

  /** Returns the random id of the store. It is made at the first call, and again if it was damaged. */
  identity(): string {
    const known = this.#read('identity');
    return typeof known === 'string' ? known : this.newIdentity();
  }

  /** Tells whether a value was set and is damaged. */
  isDamaged(key: MetaKey): boolean {
    return this.#read(key) === null;
  }

  /** Gives the store a new id, which makes it another store. */
  newIdentity(): string {
    const made = randomBytes(16).toString('hex');
    this.set('identity', made);
    return made;
  }

  set(key: MetaKey, value: string | number): void {
    this.#set.run(key, value, rowChecksum(key, value));
  }

  /** Reads a value. Returns `undefined` without a row, and null if it was damaged. */
  #read(key: MetaKey): string | number | null | undefined {
    const row = this.#get.get(key);
    if (!row) return undefined;
    return row.checksum === rowChecksum(key, row.value) ? row.value : null;
  }
}
