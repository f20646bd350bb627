import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { StoreError } from '../store-error.ts';
import { toStoreError } from './database.ts';

/**
 * Makes a data directory (0700) and locks it for this process. The operating system releases the lock when the process ends, even if it
 * crashes. The file `holder.json` (`facts` and the pid) only names the holder. Rejects with the `StoreError` `data_directory_locked`, which
 * names the holder's pid, if another process holds the lock.
 */
export async function lockDataDirectory(
  directory: string,
  facts: Readonly<Record<string, unknown>> = {},
): Promise<AsyncDisposable> {
  const holderFile = join(directory, 'holder.json');
  const lock = claim(directory, holderFile);
  try {
    writeFileSync(holderFile, `${JSON.stringify({ ...facts, pid: process.pid })}\n`, { mode: 0o600 });
  } catch (thrown) {
    lock.close();
    throw toStoreError(thrown, holderFile);
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!lock.open) return;
      try {
        rmSync(holderFile, { force: true });
      } finally {
        lock.close();
      }
    },
  };
}

/**
 * Keeps brokers off a data directory until the result is disposed, so that its databases can be read. Writes nothing. Throws the
 * `StoreError` `data_directory_locked` if a broker runs there.
 */
export function holdStoppedDirectory(directory: string): Disposable {
  const file = join(directory, 'lock.db');
  let lock: Database.Database | undefined;
  try {
    // Without a lock file no broker has run here: the directory was just restored.
    if (existsSync(file)) lock = lockEmptyFile(file);
  } catch (thrown) {
    if (isLocked(thrown)) throw inUse(directory, join(directory, 'holder.json'), thrown);
    // A broker would replace a damaged lock file.
    if (!isNoDatabase(thrown)) throw toStoreError(thrown, file);
  }
  return { [Symbol.dispose]: () => lock?.close() };
}

function claim(directory: string, holderFile: string): Database.Database {
  const file = join(directory, 'lock.db');
  try {
    makeDirectory(resolve(directory));
    if (!statSync(directory).isDirectory())
      throw new StoreError('store_failed', `${directory} is no directory. Name another data directory.`);
    chmodSync(directory, 0o700);
    if (!existsSync(file)) refuseRemovedLock(directory, holderFile);
    return lockFile(file);
  } catch (thrown) {
    if (!isLocked(thrown)) throw toStoreError(thrown, directory);
    throw inUse(directory, holderFile, thrown);
  }
}

function inUse(directory: string, holderFile: string, cause: unknown): StoreError {
  return new StoreError(
    'data_directory_locked',
    `The data directory ${directory} is in use by ${describeHolder(holderFile)}. Stop that process, or use another directory.`,
    cause,
  );
}

/** Refuses a directory whose lock file was removed under its holder: the lock on a new file would say nothing. */
function refuseRemovedLock(directory: string, holderFile: string): void {
  const pid = readHolder(holderFile);
  if (pid === undefined || pid === process.pid || !isAlive(pid)) return;
  throw new StoreError(
    'data_directory_locked',
    `The lock file of ${directory} was removed, and process ${pid} held it. Stop that process; if it is no broker, remove ${holderFile}.`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Locks the file exclusively until the result is closed, or the process ends. The file is empty as long as nothing else writes into it.
 * Throws `SQLITE_BUSY` if another process holds the lock after `timeoutMs`, for which it blocks the event loop.
 */
export function lockFile(file: string, timeoutMs = 0): Database.Database {
  try {
    return lockEmptyFile(file, timeoutMs);
  } catch (thrown) {
    if (!isNoDatabase(thrown)) throw thrown;
    // SQLite asks for the lock before it reads, so no process holds the lock. The file is truncated, not replaced: a process that starts at
    // the same time asks for the same lock.
    truncateSync(file);
    return lockEmptyFile(file, timeoutMs);
  }
}

function lockEmptyFile(file: string, timeout = 0): Database.Database {
  let lock: Database.Database | undefined;
  try {
    lock = new Database(file, { timeout });
    if ((statSync(file).mode & 0o777) !== 0o600) chmodSync(file, 0o600);
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (thrown) {
    lock?.close();
    throw thrown;
  }
}

function isNoDatabase(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(thrown.code);
}

/**
 * Makes a directory and its parents one by one: Node's recursive mode never returns if the file system refuses with ENOENT, as /proc does.
 */
export function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY');
}

function describeHolder(holderFile: string): string {
  const pid = readHolder(holderFile);
  return pid === undefined ? 'another process' : `process ${pid}`;
}

/** Reads the pid of the holder. Returns `undefined` if the holder has not written the file yet: only the lock counts. */
function readHolder(holderFile: string): number | undefined {
  try {
    const { pid } = JSON.parse(readFileSync(holderFile, 'utf8')) as { pid?: unknown };
    return Number.isSafeInteger(pid) && Number(pid) > 0 ? Number(pid) : undefined;
  } catch {
    return undefined;
  }
}
