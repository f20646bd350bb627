import type { Database } from 'better-sqlite3';
import { isMediumFailure } from '../database.ts';
import type { WalSync } from '../wal-sync.ts';

/** The number of commits in a row that the medium may refuse. */
const maxRefused = 3;
/** The longest time that a write without a waiting caller waits for other writes, in milliseconds. */
const laterMs = 20;

type Write = () => void;

interface PendingWrite {
  write: Write;
  /** True if it must be on the disk before it is confirmed. */
  sync: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Gathers the writes of one turn of the event loop into one transaction. A thread syncs the log of the database outside of the transaction,
 * and only callers whose writes must be on the disk wait for it. {@link failed} resolves after a failed sync, or after several commits in a
 * row that the medium refused.
 */
export class GroupCommit {
  readonly #log: Pick<WalSync, 'check' | 'sync' | 'syncNow'>;
  readonly #toError: (thrown: unknown) => Error;
  #pending: PendingWrite[] = [];
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #commit: (writes: readonly Pick<PendingWrite, 'write'>[]) => void;
  #isClosed = false;
  /** The number of commits in a row that the medium refused. */
  #refused = 0;
  readonly #failed = Promise.withResolvers<Error>();

  /** `db` must not sync its commits itself; `log` syncs its log. */
  constructor(
    db: Database,
    log: Pick<WalSync, 'check' | 'sync' | 'syncNow'>,
    toError: (thrown: unknown) => Error,
  ) {
    this.#log = log;
    this.#toError = toError;
    this.#commit = db.transaction((writes: readonly Pick<PendingWrite, 'write'>[]) => {
      for (const { write } of writes) write();
    });
  }

  /** Resolves with the last error when the medium has failed in such a way that it will probably take no more writes. */
  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /** Queues a write. Resolves when it is committed; with `sync`, when it is on disk. */
  write(write: Write, { sync }: { sync: boolean }): Promise<void> {
    if (this.#isClosed) return Promise.reject(this.#toError(closed()));
    this.#immediate ??= setImmediate(() => this.flush());
    return new Promise((resolve, reject) => this.#pending.push({ write, sync, resolve, reject }));
  }

  /** Queues a write that nobody waits for: it joins the next commit, or soon becomes one of its own. It is lost if that commit fails. */
  writeLater(write: Write): void {
    if (this.#isClosed) return;
    this.#pending.push({ write, sync: false, resolve: ignore, reject: ignore });
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, laterMs).unref();
  }

  /** Commits the queued writes, and accepts no more. Writes that must be on disk are confirmed by the next sync of the log. */
  close(): void {
    this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Commits the queued writes now. Writes that must be on disk are confirmed later. */
  flush(): void {
    if (this.#immediate) clearImmediate(this.#immediate);
    const pending = this.#pending;
    this.#pending = [];
    this.#immediate = undefined;
    if (pending.length === 0) return;
    try {
      this.#commitOnly(pending);
    } catch (thrown) {
      const error = this.#toError(thrown);
      for (const { reject } of pending) reject(error);
      return;
    }
    const unsynced: PendingWrite[] = [];
    for (const one of pending) {
      if (one.sync) unsynced.push(one);
      else one.resolve();
    }
    if (unsynced.length > 0) void this.#confirm(unsynced);
  }

  async #confirm(writes: readonly PendingWrite[]): Promise<void> {
    try {
      await this.#log.sync();
      for (const { resolve } of writes) resolve();
    } catch (thrown) {
      const error = this.#toError(thrown);
      this.#failed.resolve(error);
      for (const { reject } of writes) reject(error);
    }
  }

  /** Commits these writes before it returns; with `sync`, they are on disk then. Throws the error of SQLite or of the log. */
  commitNow(writes: readonly Write[], { sync }: { sync: boolean }): void {
    this.#commitOnly(writes.map((write) => ({ write })));
    if (!sync) return;
    try {
      this.#log.syncNow();
    } catch (thrown) {
      this.#failed.resolve(this.#toError(thrown));
      throw thrown;
    }
  }

  #commitOnly(writes: readonly Pick<PendingWrite, 'write'>[]): void {
    this.#log.check();
    if (this.#isClosed) throw closed();
    try {
      this.#commit(writes);
      this.#refused = 0;
    } catch (thrown) {
      this.#count(thrown);
      throw thrown;
    }
  }

  /** Counts a commit that the medium refused. After a failed sync it is unknown what is on the disk, so one failed sync is final. */
  #count(thrown: unknown): void {
    if (!isMediumFailure(thrown)) return;
    const isFinal = (thrown as NodeJS.ErrnoException).code === 'SQLITE_IOERR_FSYNC';
    this.#refused = isFinal ? maxRefused : this.#refused + 1;
    if (this.#refused >= maxRefused) this.#failed.resolve(this.#toError(thrown));
  }
}

function ignore(): void {}

function closed(): Error {
  return new Error('the journal is closed');
}
