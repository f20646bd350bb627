import { constants, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from '@signalbox/store/rules';

/** The last commit of an incarnation that the database confirmed. */
export interface ConfirmedCommit {
  /** The identity of the schema. */
  store: string;
  /** The identities that the schema had before it was declared restored, the newest ones. */
  former: readonly string[];
  /** The name of the incarnation's owner in the schema. */
  broker: string;
  epoch: number;
  commits: number;
  /** The timeline of the server, which changes when a standby is promoted. `null` if a standby had every commit, or if it is unknown. */
  timeline: string | null;
  /** The time of the commit by the clock of the database, in epoch milliseconds. */
  at: number;
}

/** The length of the file. A shorter text is padded, so that each text replaces the one before. */
const bytes = 1024;

/**
 * A small file outside of the database that names the last commit which the database confirmed to an incarnation. A database that was
 * restored to an earlier moment can't tell that it once held more. The file is written after each commit, and so is never ahead of the
 * database.
 */
export class MarkFile implements AsyncDisposable {
  readonly #file: string;
  readonly #handle: FileHandle;
  #failure: unknown;

  private constructor(file: string, handle: FileHandle) {
    this.#file = file;
    this.#handle = handle;
  }

  /** Opens a file, or makes an empty one. Its content stays until the next commit is written. Rejects with a `StoreError`. */
  static async open(file: string): Promise<MarkFile> {
    try {
      return new MarkFile(file, await open(file, constants.O_RDWR | constants.O_CREAT, 0o600));
    } catch (thrown) {
      throw failure(file, thrown);
    }
  }

  /** Reads the commit. Returns `undefined` if the file is empty, and `damaged` if it has another content. */
  async read(): Promise<ConfirmedCommit | 'damaged' | undefined> {
    const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(bytes), 0, bytes, 0);
    if (bytesRead === 0) return undefined;
    try {
      const read: unknown = JSON.parse(buffer.toString('utf8', 0, bytesRead));
      return isConfirmedCommit(read) ? read : 'damaged';
    } catch {
      return 'damaged';
    }
  }

  /** Writes the commit of an incarnation that begins, and syncs it with the name of the file. Rejects with a `StoreError`. */
  async start(commit: ConfirmedCommit): Promise<void> {
    this.write(commit);
    await this.sync();
    if (process.platform === 'win32') return;
    await using directory = await open(dirname(this.#file), 'r');
    await directory.sync();
  }

  /** Writes a commit, which then survives the end of this process. The next {@link sync} reports a failure. */
  write(commit: ConfirmedCommit): void {
    try {
      writeSync(this.#handle.fd, `${JSON.stringify(commit).padEnd(bytes - 1)}\n`, 0);
      this.#failure = undefined;
    } catch (thrown) {
      this.#failure = thrown;
    }
  }

  /** Resolves when the commit that was written last is on the disk. Rejects with a `StoreError`. */
  async sync(): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#handle.datasync();
    } catch (thrown) {
      throw failure(this.#file, thrown);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

function failure(file: string, thrown: unknown): StoreError {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new StoreError(
    'store_failed',
    `${file}, which names what the database has confirmed, can't be written: ${text}. See to the disk, and to the rights of this user.`,
    thrown,
  );
}

function isConfirmedCommit(read: unknown): read is ConfirmedCommit {
  if (typeof read !== 'object' || read === null) return false;
  const { store, former, broker, epoch, commits, timeline, at } = read as Partial<Record<string, unknown>>;
  const isTimeline = timeline === null || typeof timeline === 'string';
  return (
    [store, broker].every((text) => typeof text === 'string') &&
    [epoch, commits, at].every((number) => Number.isSafeInteger(number)) &&
    Array.isArray(former) &&
    isTimeline
  );
}
