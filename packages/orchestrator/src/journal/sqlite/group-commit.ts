import type { Database } from 'better-sqlite3';

/** The commits in a row that the medium may refuse. */
const maxRefused = 3;

type Write = () => void;

interface PendingWrite {
  write: Write;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Gathers the writes of one turn of the event loop into one transaction, so that all writes that must be fsynced share
 * one fsync, and a turn without one pays for none. After several commits in a row that the medium refused, {@link failed} resolves.
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
  /** Commits in a row that the medium refused. */
  #refused = 0;
  readonly #failed = Promise.withResolvers<Error>();

  constructor(db: Database, toError: (thrown: unknown) => Error) {
    this.#db = db;
    this.#toError = toError;
    this.#commit = db.transaction((writes: readonly Write[]) => {
      for (const write of writes) write();
    });
  }

  /** Resolves with the last error when the medium has refused so many commits in a row that it will hardly take another. */
  get failed(): Promise<Error> {
    return this.#failed.promise;
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
    try {
      if (this.#isSync !== sync) {
        this.#db.pragma(`synchronous = ${sync ? 'FULL' : 'NORMAL'}`);
        this.#isSync = sync;
      }
      this.#commit(writes);
      this.#refused = 0;
    } catch (thrown) {
      this.#count(thrown);
      throw thrown;
    }
  }

  /** Counts a commit that the medium refused. After a failed sync nobody knows what is on the disk: that is one too many. */
  #count(thrown: unknown): void {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
    if (!/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code)) return;
    this.#refused = code === 'SQLITE_IOERR_FSYNC' ? maxRefused : this.#refused + 1;
    if (this.#refused >= maxRefused) this.#failed.resolve(this.#toError(thrown));
  }
}
