import type { Database } from 'better-sqlite3';

type Write = () => void;

interface PendingWrite {
  write: Write;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Gathers the writes of one turn of the event loop into one transaction, so that all writes that must be fsynced share
 * one fsync, and a turn without one pays for none.
 */
export class GroupCommit {
  readonly #db: Database;
  readonly #toError: (thrown: unknown) => Error;
  #pending: PendingWrite[] = [];
  #mustSync = false;
  #immediate: NodeJS.Immediate | undefined;
  readonly #commit: (writes: readonly Write[]) => void;
  /** The database's present setting. It is remembered because each change has SQLite compile a statement. */
  #isSync: boolean | undefined;

  constructor(db: Database, toError: (thrown: unknown) => Error) {
    this.#db = db;
    this.#toError = toError;
    this.#commit = db.transaction((writes: readonly Write[]) => {
      for (const write of writes) write();
    });
  }

  /** Queues a write. Resolves when it is committed; with `sync`, when it is on disk. */
  write(write: Write, options: { sync: boolean }): Promise<void> {
    this.#mustSync ||= options.sync;
    this.#immediate ??= setImmediate(() => this.flush());
    return new Promise((resolve, reject) => this.#pending.push({ write, resolve, reject }));
  }

  /** Commits the queued writes now. */
  flush(): void {
    if (this.#immediate) clearImmediate(this.#immediate);
    const [pending, sync] = [this.#pending, this.#mustSync];
    this.#pending = [];
    this.#mustSync = false;
    this.#immediate = undefined;
    if (pending.length === 0) return;
    try {
      this.commitNow(
        pending.map(({ write }) => write),
        { sync },
      );
      for (const { resolve } of pending) resolve();
    } catch (thrown) {
      const error = this.#toError(thrown);
      for (const { reject } of pending) reject(error);
    }
  }

  /** Commits these writes before it returns; with `sync`, they are on disk then. Throws what SQLite throws. */
  commitNow(writes: readonly Write[], { sync }: { sync: boolean }): void {
    if (this.#isSync !== sync) {
      this.#db.pragma(`synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
      this.#isSync = sync;
    }
    this.#commit(writes);
  }
}
