import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

export interface DatabaseOptions {
  file: string;
  /** `full`: each commit is fsynced. `normal`: commits survive the end of the process, but not a power cut. */
  synchronous: 'full' | 'normal';
  /** The statements that make the tables in a new database. */
  schema: string;
}

/**
 * The version of all formats in this package. It changes with each change of tables or of their content. A database of another version is
 * refused.
 */
export const formatVersion = 13;

/** The size to which SQLite cuts its log when it begins it again, in bytes. */
export const maxLogBytes: number = 64 * 1024 * 1024;

/**
 * The longest wait of a write for another process (a shell, a backup) that holds the write lock, in milliseconds. It blocks the event loop.
 */
const busyTimeoutMs = 2000;

/**
 * Opens or creates a database in WAL mode, readable by its owner only, creates its tables and passes it to `use`. The result of `use`
 * closes the database. If anything fails, the database is closed and a `StoreError` is thrown.
 */
export function openDatabase<T>(options: DatabaseOptions, use: (db: Database.Database) => T): T {
  const { file } = options;
  let db: Database.Database | undefined;
  try {
    db = openFile({ ...options, busyTimeoutMs, version: formatVersion, otherVersion });
    return use(db);
  } catch (thrown) {
    db?.close();
    // SQLite refuses a correct statement: the tables are not the expected ones.
    const isOtherSchema = sqliteCode(thrown) === 'SQLITE_ERROR';
    throw isOtherSchema ? newStoreError('store_corrupt', thrown, file) : toStoreError(thrown, file);
  }
}

interface FileOptions extends DatabaseOptions {
  /** The version of the tables, and what is thrown for a file of another version. */
  version: number;
  otherVersion: (file: string, found: number) => Error;
  /** The longest wait for another process that holds a lock, in milliseconds. It blocks the event loop. */
  busyTimeoutMs: number;
  /** True if no other process can open the file until it is closed. */
  isExclusive?: boolean;
}

/** Opens or creates a database in WAL mode, readable by its owner only, and creates its tables. Throws what SQLite throws. */
export function openFile(options: FileOptions): Database.Database {
  const { file, synchronous, busyTimeoutMs: timeout, isExclusive } = options;
  makePrivate(file);
  const db = new Database(file, { timeout });
  try {
    if (isExclusive) db.pragma('locking_mode = EXCLUSIVE');
    // A new file needs this before its first page: see file-shrinker.ts.
    db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${synchronous}`);
    db.pragma(`journal_size_limit = ${maxLogBytes}`);
    createSchema(db, options);
    return db;
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

/** A database, and the files that are made only if it exists. */
export interface ExpectedDatabase {
  file: string;
  madeLater: readonly string[];
}

/**
 * Looks for databases that are absent or empty although a file shows that they were in use. Throws a `StoreError` that names all of them.
 * With `acceptLoss` it returns the message of that error instead; `undefined` if nothing is missing.
 */
export function refuseAbsent(
  databases: readonly ExpectedDatabase[],
  acceptLoss: boolean,
): string | undefined {
  const absent = databases.filter(
    ({ file, madeLater }) => isAbsent(file) && madeLater.some((later) => existsSync(later)),
  );
  if (absent.length === 0) return undefined;
  const missing = absent.map(({ file }) => `${file} is missing or empty`).join(', and ');
  const later = new Set(absent.flatMap(({ madeLater }) => madeLater.filter((one) => existsSync(one))));
  const text = `${missing}, although files are there that are made only later: ${[...later].join(', ')}`;
  if (acceptLoss) return text;
  throw new StoreError(
    'store_damaged',
    `${text}. Put back what is missing from a backup, or accept the loss of everything in it: start once with --accept-loss.`,
  );
}

/** Tells whether a database is absent or empty. Its log does not count: SQLite removes the log of an absent or empty database. */
function isAbsent(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Reads all pages of a small database. Throws a `StoreError` if SQLite finds their structure damaged. */
export function requireSound(db: Database.Database, file: string): void {
  const found = db.pragma('quick_check(1)', { simple: true });
  if (found !== 'ok') throw new StoreError('store_corrupt', `${file}: ${String(found)}.`);
}

/** Renames a database that is not in use, and its log. Returns the new name, which holds the time. Throws a `StoreError`. */
export function setAside(file: string, now: number): string {
  const aside = `${file}.damaged-${new Date(now).toISOString().replaceAll(':', '-')}`;
  try {
    renameSync(file, aside);
    if (existsSync(`${file}-wal`)) renameSync(`${file}-wal`, `${aside}-wal`);
    rmSync(`${file}-shm`, { force: true });
    return aside;
  } catch (thrown) {
    throw toStoreError(thrown, file);
  }
}

/** Returns the size of the log that SQLite keeps beside a database file, in bytes. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Copies the log into the database file, so that the file is complete by itself, and closes it. */
export function closeDatabase(db: Database.Database): void {
  if (!db.open) return;
  try {
    db.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

/**
 * Copies the log into the database file and empties it, without waiting. Returns false if another connection reads the database, or the
 * medium refused it: then every commit is still in the log.
 */
export function emptyLog(db: Database.Database): boolean {
  const timeoutMs = db.pragma('busy_timeout', { simple: true });
  try {
    db.pragma('busy_timeout = 0');
    const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } catch {
    return false;
  } finally {
    db.pragma(`busy_timeout = ${timeoutMs}`);
  }
}

/**
 * The SQLite codes that may mean a lack of room. A file-size limit of the process shows as a failed write, and so can a full disk when the
 * index of the log has to grow. Only `SQLITE_FULL` has no other meaning.
 */
const outOfRoomCodes = new Set(['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHMSIZE']);

/** Tells whether SQLite failed, perhaps because of a lack of room. */
export function isOutOfRoom(thrown: unknown): boolean {
  return outOfRoomCodes.has(sqliteCode(thrown) ?? '');
}

/** Tells whether SQLite found the database damaged. */
export function isDamage(thrown: unknown): boolean {
  return sqliteCode(thrown)?.startsWith('SQLITE_CORRUPT') ?? false;
}

/** Tells whether another connection holds a lock. */
export function isBusy(thrown: unknown): boolean {
  return sqliteCode(thrown)?.startsWith('SQLITE_BUSY') ?? false;
}

const mediumErrnos = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'ENXIO', 'ENODEV', 'ESTALE', 'EBADF']);

/** Tells whether the medium refused to read or write. The next attempt will probably fail as well. */
export function isMediumFailure(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  if (code === undefined) return mediumErrnos.has((thrown as NodeJS.ErrnoException | null)?.code ?? '');
  return /^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code);
}

const noRoomErrnos = new Set(['ENOSPC', 'EFBIG', 'EDQUOT']);

/** Tells whether a system call failed because of a lack of room. */
export function isNoRoomErrno(thrown: unknown): boolean {
  return noRoomErrnos.has((thrown as NodeJS.ErrnoException | null)?.code ?? '');
}

/**
 * Copies as much of the log into the database file as there is room for, so that the log is written from its start again. With `release`
 * the disk gets back the room of the log, too.
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
  return new StoreError(code, `${file}: ${text}.${adviceFor(code, thrown, file)}`, thrown);
}

/** Returns a function that reads the number of bytes in use: the pages of the file without the free ones. */
export function usedBytesReader(db: Database.Database): () => number {
  const pageSize = db.pragma('page_size', { simple: true }) as number;
  const pages = db.prepare<[], number>('PRAGMA page_count').pluck();
  const freePages = db.prepare<[], number>('PRAGMA freelist_count').pluck();
  return () => ((pages.get() ?? 0) - (freePages.get() ?? 0)) * pageSize;
}

/**
 * Makes a file readable by its owner only. It never opens an existing file: closing any handle of it would drop the locks that SQLite holds
 * in this process.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    chmodSync(file, 0o600);
  }
}

function createSchema(
  db: Database.Database,
  { file, schema, version, otherVersion }: Pick<FileOptions, 'file' | 'schema' | 'version' | 'otherVersion'>,
): void {
  const found = db.pragma('user_version', { simple: true }) as number;
  if (found === version) return;
  if (found !== 0) throw otherVersion(file, found);
  const create = db.transaction(() => {
    db.exec(schema);
    db.pragma(`user_version = ${version}`);
  });
  create.immediate();
}

function otherVersion(file: string, found: number): StoreError {
  return new StoreError(
    'store_other_version',
    `${file} has version ${found} of the format, and this Signalbox reads version ${formatVersion}. Use the one that wrote it (its signalbox backup copies everything), or another data directory.`,
  );
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

function adviceFor(code: StoreErrorCode, thrown: unknown, file: string): string {
  if (code === 'store_full') return ' Make room on the disk.';
  if ((thrown as NodeJS.ErrnoException | null)?.code === 'EROFS') {
    return ' The file system can only be read, as after an error of its disk: see what the kernel says (dmesg), then mount it for writing.';
  }
  if (code === 'store_unwritable') {
    return ` This user must be able to write there: choose another directory, or change its owner with: sudo chown -R "$USER" "${file}"`;
  }
  if (code !== 'store_corrupt') return '';
  return ` Keep a copy, then recover what can be read: sqlite3 "${file}" .recover | sqlite3 "${file}.recovered"`;
}
