import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

export interface DatabaseOptions {
  file: string;
  /** `full`: each commit is fsynced. `normal`: commits survive the end of the process, but not a power cut. */
  synchronous: 'full' | 'normal';
  /** The statements that make the tables of schema version 1 in a new database. */
  schema: string;
}

/** The version of every schema in this package; a database with a higher one is refused. */
const schemaVersion = 1;

/** How long a write waits for another process (a shell, a backup) that holds the write lock. It blocks the event loop. */
const busyTimeoutMs = 2000;

/**
 * Opens or creates a database in WAL mode, readable by its owner only, creates its tables and hands it to `use`,
 * whose result closes it. If anything fails, the database is closed and a `StoreError` is thrown.
 */
export function openDatabase<T>(options: DatabaseOptions, use: (db: Database.Database) => T): T {
  const { file, synchronous, schema } = options;
  let db: Database.Database | undefined;
  try {
    makePrivate(file);
    db = new Database(file, { timeout: busyTimeoutMs });
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma('journal_size_limit = 67108864');
    createSchema(db, schema, file);
    return use(db);
  } catch (thrown) {
    db?.close();
    // SQLite refuses a statement, although all of them are right: the tables are not those that were made.
    const isOtherSchema = sqliteCode(thrown) === 'SQLITE_ERROR';
    throw isOtherSchema ? newStoreError('store_corrupt', thrown, file) : toStoreError(thrown, file);
  }
}

/** Throws a `StoreError` if a database is absent or empty, and `isExpected` says that there was one. */
export function refuseAbsent(file: string, isExpected: boolean): void {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (!isExpected || bytes > 0 || logBytes(file) > 0) return;
  throw new StoreError(
    'store_damaged',
    `${file} is missing or empty, although other files beside it say that it was in use. Put it back from a backup, or accept ` +
      'the loss of everything in it: start once with --accept-loss.',
  );
}

/** The size of the log that SQLite keeps beside a database file. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Copies the log into the database file, so that the file is whole by itself, and closes it. */
export function closeDatabase(db: Database.Database): void {
  if (!db.open) return;
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

/**
 * The codes of SQLite for what may be a lack of room. A file-size limit of the process shows as a failed write, and so can a full
 * disk, when the index of the log has to grow. Only `SQLITE_FULL` says nothing else.
 */
const outOfRoomCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHMSIZE']);

/** Whether SQLite failed, perhaps for lack of room. */
export function isOutOfRoom(thrown: unknown): boolean {
  return outOfRoomCodes.has(sqliteCode(thrown) ?? '');
}

const mediumErrnos = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV', 'ESTALE', 'EBADF']);

/** Whether the medium refused to read or write: the same will probably happen to the next attempt. */
export function isMediumFailure(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  if (code === undefined) return mediumErrnos.has((thrown as NodeJS.ErrnoException | null)?.code ?? '');
  return /^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code);
}

const noRoomErrnos = new Set(['ENOSPC', 'EFBIG', 'EDQUOT']);

/** Whether a system call failed for lack of room. */
export function isNoRoomErrno(thrown: unknown): boolean {
  return noRoomErrnos.has((thrown as NodeJS.ErrnoException | null)?.code ?? '');
}

/**
 * Copies the log into the database file as far as there is room, so that the log is written from its start again.
 * With `release` the disk gets the room of the log back, too.
 */
export function reuseLog(db: Database.Database, how: 'keep' | 'release'): void {
  try {
    db.pragma(`wal_checkpoint(${how === 'keep' ? 'RESTART' : 'TRUNCATE'})`);
  } catch (thrown) {
    if (!isOutOfRoom(thrown)) throw thrown;
  }
}

export function toStoreError(thrown: unknown, file: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const code = storeErrorCode(sqliteCode(thrown) ?? (thrown as NodeJS.ErrnoException | null)?.code);
  return newStoreError(code, thrown, file);
}

function newStoreError(code: StoreErrorCode, thrown: unknown, file: string): StoreError {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new StoreError(code, `${file}: ${text}.${adviceFor(code, file)}`, thrown);
}

/** Returns a function that reads how many bytes hold data: the pages of the file without those that are free for reuse. */
export function usedBytesReader(db: Database.Database): () => number {
  const pageSize = db.pragma('page_size', { simple: true }) as number;
  const pages = db.prepare<[], number>('PRAGMA page_count').pluck();
  const freePages = db.prepare<[], number>('PRAGMA freelist_count').pluck();
  return () => ((pages.get() ?? 0) - (freePages.get() ?? 0)) * pageSize;
}

/**
 * Makes a file readable by its owner only. It never opens a file that exists: closing any handle of it would drop the locks that
 * SQLite holds in this process.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    chmodSync(file, 0o600);
  }
}

function createSchema(db: Database.Database, schema: string, file: string): void {
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version > schemaVersion) {
    throw new StoreError(
      'store_too_new',
      `${file} was written by a newer version (schema ${version}, this one knows ${schemaVersion}). Use that version.`,
    );
  }
  if (version === schemaVersion) return;
  const create = db.transaction(() => {
    db.exec(schema);
    db.pragma(`user_version = ${schemaVersion}`);
  });
  create.immediate();
}

function sqliteCode(thrown: unknown): string | undefined {
  return thrown instanceof Database.SqliteError ? thrown.code : undefined;
}

const unwritableCodes = new Set(['EACCES', 'EPERM', 'EROFS', 'SQLITE_CANTOPEN', 'SQLITE_PERM']);

function storeErrorCode(code: string | undefined): StoreErrorCode {
  if (code === 'SQLITE_NOTADB' || code?.startsWith('SQLITE_CORRUPT')) return 'store_corrupt';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return 'store_full';
  const isUnwritable =
    code !== undefined && (unwritableCodes.has(code) || code.startsWith('SQLITE_READONLY'));
  return isUnwritable ? 'store_unwritable' : 'store_failed';
}

function adviceFor(code: StoreErrorCode, file: string): string {
  if (code === 'store_full') return ' Make room on the disk.';
  if (code === 'store_unwritable') {
    return ` This user must be able to write there: choose another directory, or change its owner with: sudo chown -R "$USER" "${file}"`;
  }
  if (code !== 'store_corrupt') return '';
  return ` Keep a copy, then recover what can be read: sqlite3 "${file}" .recover | sqlite3 "${file}.recovered"`;
}
