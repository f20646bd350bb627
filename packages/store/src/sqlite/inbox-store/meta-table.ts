import { randomBytes } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import { rowChecksum } from '../row-checksum.ts';

/** A value that the store keeps once. */
export type MetaKey = 'identity' | 'seq_reserved' | 'log_dropped' | 'time' | 'proofs' | 'restored_at';

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

  /** Whether the value was ever set, damaged or not. */
  has(key: MetaKey): boolean {
    return this.#read(key) !== undefined;
  }

  /** A text; undefined if it was never set, or was damaged. */
  text(key: 'time'): string | undefined {
    const value = this.#read(key);
    return typeof value === 'string' ? value : undefined;
  }

  /** A number, 0 if it was never set; undefined if it was damaged. */
  number(key: 'seq_reserved' | 'log_dropped' | 'proofs' | 'restored_at'): number | undefined {
    const value = this.#read(key);
    return value === undefined ? 0 : typeof value === 'number' ? value : undefined;
  }

  /** The random id of the store, made when it is first asked for, and again if it was damaged. */
  identity(): string {
    const known = this.#read('identity');
    return typeof known === 'string' ? known : this.newIdentity();
  }

  /** Whether a value was set and is damaged. */
  isDamaged(key: MetaKey): boolean {
    return this.#read(key) === null;
  }

  /** Replaces the id of the store: it is another one from now on. */
  newIdentity(): string {
    const made = randomBytes(16).toString('hex');
    this.set('identity', made);
    return made;
  }

  set(key: MetaKey, value: string | number): void {
    this.#set.run(key, value, rowChecksum(key, value));
  }

  /** Undefined without a row, null if it was damaged. */
  #read(key: MetaKey): string | number | null | undefined {
    const row = this.#get.get(key);
    if (!row) return undefined;
    return row.checksum === rowChecksum(key, row.value) ? row.value : null;
  }
}
