import type { Database, Statement } from 'better-sqlite3';
import { StoreError } from '../../store-error.ts';
import { isMediumFailure, isOutOfRoom, logBytes, reuseLog, toStoreError } from '../database.ts';
import { DamageFound } from '../log-structured/damage-found.ts';
import { DiskReserve } from './disk-reserve.ts';

export interface TransactionsOptions {
  /** The database file. */
  file: string;
  /** The size of the reserve beside it. */
  reserveBytes: number;
  /** Reads again everything that is in memory, which is in doubt after a rollback. */
  reload: () => void;
  /** Repairs damage that was found. `repaired` holds the segments that were repaired for the same action before. */
  repair: (found: DamageFound, repaired: Set<number>) => void;
}

/** The number of changes in a row that the medium may refuse before the store fails for good. */
const maxRefusals = 3;

/**
 * Carries out changes and reads. The way of a change is {@link write}, then {@link withRoom} if it needs or frees room on the disk, then
 * {@link run} for each of its transactions.
 */
export class Transactions {
  readonly #db: Database;
  readonly #file: string;
  readonly #reserve: DiskReserve;
  readonly #options: TransactionsOptions;
  readonly #begin: Statement<[]>;
  readonly #end: Statement<[]>;
  /** True if a transaction failed and the content of the memory was not read again since. */
  #isInDoubt = false;
  /** The number of changes in a row that the medium refused. A lack of room does not count: such a medium recovers. */
  #refusals = 0;
  /** The error of every further change, once the store has failed for good. */
  #final: StoreError | undefined;

  constructor(db: Database, options: TransactionsOptions) {
    const { file, reserveBytes } = options;
    this.#db = db;
    this.#file = file;
    this.#reserve = new DiskReserve(`${file}.reserve`, reserveBytes);
    this.#options = options;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
  }

  /** False from the moment when the disk is full until {@link regainRoom} finds room again. */
  get hasRoom(): boolean {
    return this.#reserve.isHeld;
  }

  /** True if the medium refused the last change, and no later one has shown that it works. */
  get isMediumInDoubt(): boolean {
    return this.#refusals > 0;
  }

  /**
   * Attempts a change. Throws a `StoreError`. A medium that refuses everything rarely recovers while the database is open, so the error is
   * final after a few refusals.
   */
  write<T>(change: () => T): T {
    if (this.#final !== undefined) throw this.#final;
    try {
      return this.attempt(change);
    } catch (thrown) {
      throw this.#refused(thrown as StoreError);
    }
  }

  /** Attempts a change on a disk that may be full: see {@link withRoom}. */
  writeWithRoom<T>(change: () => T, otherwise?: () => T): T {
    return this.write(() => this.withRoom(change, otherwise));
  }

  /** Attempts a read, or anything else. If it finds damage, the damage is repaired and it is tried again. Throws a `StoreError`. */
  attempt<T>(action: () => T): T {
    const repaired = new Set<number>();
    for (;;) {
      try {
        if (!this.#db.open) throw new Error('the store is closed');
        if (this.#isInDoubt) this.recover();
        return action();
      } catch (thrown) {
        this.repairOrThrow(thrown, repaired);
      }
    }
  }

  /** Repairs the damage that an action has found. Throws a `StoreError` for everything else that it can throw. */
  repairOrThrow(thrown: unknown, repaired: Set<number>): void {
    try {
      if (!(thrown instanceof DamageFound)) throw thrown;
      this.#options.repair(thrown, repaired);
    } catch (error) {
      throw toStoreError(error, this.#file);
    }
  }

  /**
   * Runs a change on a disk that may be full. If it is, a reserve is released, which leaves the little room that SQLite must write first.
   * Then the result of `otherwise` is returned. A change without `otherwise` frees room, and is run again.
   */
  withRoom<T>(change: () => T, otherwise?: () => T): T {
    if (otherwise && !this.#reserve.isHeld) return otherwise();
    try {
      return change();
    } catch (thrown) {
      if (!isOutOfRoom(thrown)) throw thrown;
      this.#reserve.release();
      reuseLog(this.#db, 'keep');
      return (otherwise ?? change)();
    }
  }

  /** Runs a change in one transaction. If it throws, nothing is changed. */
  run<T>(change: () => T): T {
    if (this.#isInDoubt) this.recover();
    this.#begin.run();
    try {
      const result = change();
      this.#end.run();
      this.#refusals = 0;
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
    this.#options.reload();
    this.#isInDoubt = false;
  }

  /** Occupies the reserve again once there is room for it. If the disk alone has too little, it also uses the room of SQLite's log. */
  regainRoom(): void {
    if (this.#reserve.hold() || !this.#reserve.isPossibleWith(logBytes(this.#file))) return;
    reuseLog(this.#db, 'release');
    this.#reserve.hold();
  }

  /** Counts a failed change if the medium refused it. Returns the error to throw, which is final after too many. */
  #refused(error: StoreError): StoreError {
    if (!isMediumFailure(error.cause) || ++this.#refusals < maxRefusals) return error;
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    this.#final = new StoreError(
      error.code,
      `${this.#file}: the disk refused ${maxRefusals} writes in a row, the last with: ${cause}. Nothing is stored any more; see to the disk, then start again.`,
      error,
      { isFinal: true },
    );
    return this.#final;
  }
}
