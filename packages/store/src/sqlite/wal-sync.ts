import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store-error.ts';

/**
 * Syncs SQLite's write-ahead log in place of SQLite, which with `synchronous = NORMAL` does so only around a checkpoint
 * (https://sqlite.org/pragma.html#pragma_synchronous). The log stays the same file while the database is open, and has no lock that closing
 * another handle of it could drop.
 *
 * A failed sync is final: the system may forget the data that it could not write, and report success for the next sync
 * (https://wiki.postgresql.org/wiki/Fsync_Errors).
 */
export class WalSync {
  readonly #file: string;
  readonly #begin: () => () => void;
  readonly #handle: number;
  #running: Promise<void> | undefined;
  /** The sync that begins when the current one ends. */
  #next: Promise<void> | undefined;
  #failure: StoreError | undefined;

  /** `file` is the database, which must be open. `begin` is called before each sync; it returns a function that is called after it. */
  constructor(file: string, begin: () => () => void = () => () => {}) {
    this.#file = file;
    this.#begin = begin;
    this.#handle = openSync(`${file}-wal`, 'r+');
    syncDirectory(dirname(file));
  }

  /** Throws a `StoreError` if a sync failed before. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Resolves when everything that was committed before the call is on the disk. One sync runs at a time; the next one covers all commits
   * made meanwhile. Rejects with a `StoreError`.
   */
  sync(): Promise<void> {
    if (!this.#running) return this.#run();
    const next = (): Promise<void> => {
      this.#next = undefined;
      // Another caller that waited for the end may have begun the next sync.
      return this.#running ?? this.#run();
    };
    this.#next ??= this.#running.then(next, next);
    return this.#next;
  }

  /** Syncs before it returns. Throws a `StoreError`. */
  syncNow(): void {
    this.check();
    try {
      fdatasyncSync(this.#handle);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Syncs once more and closes the log. */
  async close(): Promise<void> {
    await this.sync().catch(() => {});
    closeSync(this.#handle);
  }

  #run(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const synced = this.#begin();
    this.#running = new Promise((resolve, reject) => {
      fdatasync(this.#handle, (error) => {
        this.#running = undefined;
        // The system reports a failure once, perhaps to a sync that runs at the same time.
        if (error ?? this.#failure) return reject(this.#failed(error));
        synced();
        resolve();
      });
    });
    return this.#running;
  }

  #failed(error: unknown): StoreError {
    const text = error instanceof Error ? error.message : String(error);
    this.#failure ??= new StoreError(
      'store_failed',
      `${this.#file}: the disk did not take what was written: ${text}. Nothing is confirmed any more; see to the disk, then start again.`,
      error,
      { isFinal: true },
    );
    return this.#failure;
  }
}

/** Syncs the directory, since syncing a new file does not always make its name durable. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
