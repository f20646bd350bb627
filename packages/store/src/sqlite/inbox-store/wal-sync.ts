import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../../store-error.ts';

/**
 * Brings SQLite's write-ahead log to the disk in place of SQLite, which with `synchronous = NORMAL` does so only around a
 * checkpoint (https://sqlite.org/pragma.html#pragma_synchronous). The log stays the same file as long as the database is open,
 * and carries no lock that closing another handle of it could drop.
 *
 * A failed sync is final: the system may forget what it could not write and call the next sync a success
 * (https://wiki.postgresql.org/wiki/Fsync_Errors), so that nothing after it could be believed.
 */
export class WalSync {
  readonly #file: string;
  readonly #handle: number;
  #running: Promise<void> | undefined;
  /** The one that begins when the running one ends. */
  #next: Promise<void> | undefined;
  #failure: StoreError | undefined;

  /** `file`: the database, which is open. */
  constructor(file: string) {
    this.#file = file;
    this.#handle = openSync(`${file}-wal`, 'r+');
    syncDirectory(dirname(file));
  }

  /** Throws a `StoreError` if a sync failed before. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /**
   * Resolves when all that was committed before the call is on the disk; one at a time, for all that was committed meanwhile.
   * Rejects with a `StoreError`.
   */
  sync(): Promise<void> {
    if (!this.#running) return this.#run();
    const next = (): Promise<void> => {
      this.#next = undefined;
      // Who heard of the end first may have begun it.
      return this.#running ?? this.#run();
    };
    this.#next ??= this.#running.then(next, next);
    return this.#next;
  }

  /** The same, while nothing else runs. */
  syncNow(): void {
    this.check();
    try {
      fdatasyncSync(this.#handle);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Waits for a sync that runs. */
  async close(): Promise<void> {
    await this.sync().catch(() => {});
    closeSync(this.#handle);
  }

  #run(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#running = new Promise((resolve, reject) => {
      fdatasync(this.#handle, (error) => {
        this.#running = undefined;
        if (error) reject(this.#failed(error));
        else resolve();
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
    );
    return this.#failure;
  }
}

/** A new file may be lost with its name, which its own sync need not bring to the disk. */
function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
