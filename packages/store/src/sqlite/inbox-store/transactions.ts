import type { Database, Statement } from 'better-sqlite3';
import { isOutOfRoom, logBytes, reuseLog } from '../database.ts';
import { DiskReserve } from './disk-reserve.ts';

export interface TransactionsOptions {
  /** The database file. */
  file: string;
  /** The size of the reserve beside it. */
  reserveBytes: number;
  /** Reads again everything that is in memory, which is in doubt after a rollback. */
  reload: () => void;
  /** Called when a transaction is written. */
  onWritten: () => void;
}

/**
 * Runs changes as transactions, also on a full disk: then it releases a reserve, so that changes which free room have the little room that
 * they must write first.
 */
export class Transactions {
  readonly #db: Database;
  readonly #file: string;
  readonly #reserve: DiskReserve;
  readonly #reload: () => void;
  readonly #onWritten: () => void;
  readonly #begin: Statement<[]>;
  readonly #end: Statement<[]>;
  /** True if a transaction failed and the content of the memory was not read again since. */
  #isInDoubt = false;

  constructor(db: Database, { file, reserveBytes, reload, onWritten }: TransactionsOptions) {
    this.#db = db;
    this.#file = file;
    this.#reserve = new DiskReserve(`${file}.reserve`, reserveBytes);
    this.#reload = reload;
    this.#onWritten = onWritten;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
  }

  /** False from the moment when the disk is full until {@link regainRoom} finds room again. */
  get hasRoom(): boolean {
    return this.#reserve.isHeld;
  }

  /** Runs a change in one transaction. If it throws, nothing is changed. */
  run<T>(change: () => T): T {
    this.recover();
    this.#begin.run();
    try {
      const result = change();
      this.#end.run();
      this.#onWritten();
      return result;
    } catch (thrown) {
      this.#isInDoubt = true;
      try {
        this.recover();
      } catch {
        // The next use tries again, and fails with the reason if that fails, too.
      }
      throw thrown;
    }
  }

  /**
   * Rolls back a failed transaction and reads the memory's content again. Call it before that content is used: a failing medium may fail
   * here, too.
   */
  recover(): void {
    if (!this.#isInDoubt) return;
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    this.#reload();
    this.#isInDoubt = false;
  }

  /** Runs a change that needs room on the disk. If there is none, releases the reserve and returns what `otherwise` returns. */
  needingRoom<T>(change: () => T, otherwise: () => T): T {
    if (!this.hasRoom) return otherwise();
    try {
      return change();
    } catch (thrown) {
      if (!isOutOfRoom(thrown)) throw thrown;
      this.#releaseReserve();
      return otherwise();
    }
  }

  /** Runs a change that frees room, and that must be possible without room. */
  freeingRoom<T>(change: () => T): T {
    try {
      return change();
    } catch (thrown) {
      if (!isOutOfRoom(thrown)) throw thrown;
      this.#releaseReserve();
      return change();
    }
  }

  /** Occupies the reserve again once there is room for it. If the disk alone has too little, it also uses the room of SQLite's log. */
  regainRoom(): void {
    if (this.#reserve.hold() || !this.#reserve.isPossibleWith(logBytes(this.#file))) return;
    reuseLog(this.#db, 'release');
    this.#reserve.hold();
  }

  #releaseReserve(): void {
    this.#reserve.release();
    reuseLog(this.#db, 'keep');
  }
}
