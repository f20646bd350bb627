import type { Database } from 'better-sqlite3';

type Write = () => void;

interface Pending {
  write: Write;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** How long a write that nobody waits for may wait for company. */
const lazyMs = 50;

/**
 * Gathers the writes of one turn of the event loop into one transaction, so that all that must be fsynced share one
 * fsync, and a turn without such a write pays none.
 */
export class GroupCommit {
  readonly #db: Database;
  readonly #toError: (thrown: unknown) => Error;
  #pending: Pending[] = [];
  #lazy: Write[] = [];
  #mustSync = false;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #commit: (writes: readonly Write[]) => void;
  /** As the database is set now; changing it has SQLite compile a statement. */
  #isSync: boolean | undefined;

  constructor(db: Database, toError: (thrown: unknown) => Error) {
    this.#db = db;
    this.#toError = toError;
    this.#commit = db.transaction((writes: readonly Write[]) => {
      for (const write of writes) write();
    });
  }

  /** Resolves when the write is committed; with `sync`, when it is on disk. */
  write(write: Write, options: { sync: boolean }): Promise<void> {
    this.#mustSync ||= options.sync;
    this.#immediate ??= setImmediate(() => this.flush());
    return new Promise((resolve, reject) => this.#pending.push({ write, resolve, reject }));
  }

  /** For a write that may be lost: it goes with the next commit, or soon. */
  lazily(write: Write): void {
    this.#lazy.push(write);
    this.#timer ??= setTimeout(() => this.flush(), lazyMs);
  }

  flush(): void {
    if (this.#immediate) clearImmediate(this.#immediate);
    if (this.#timer) clearTimeout(this.#timer);
    const [pending, lazy, sync] = [this.#pending, this.#lazy, this.#mustSync];
    this.#pending = [];
    this.#lazy = [];
    this.#mustSync = false;
    this.#immediate = undefined;
    this.#timer = undefined;
    if (pending.length === 0 && lazy.length === 0) return;
    try {
      this.now([...pending.map(({ write }) => write), ...lazy], { sync });
      for (const { resolve } of pending) resolve();
    } catch (thrown) {
      const error = this.#toError(thrown);
      for (const { reject } of pending) reject(error);
    }
  }

  /** Commits these writes before it returns. */
  now(writes: readonly Write[], { sync }: { sync: boolean }): void {
    if (this.#isSync !== sync) {
      this.#db.pragma(`synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
      this.#isSync = sync;
    }
    this.#commit(writes);
  }
}
