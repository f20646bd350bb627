import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import type { Damage } from '../../damage.ts';
import { syncDirectory } from '../wal-sync.ts';
import type { ReadMark } from './durable-mark.ts';
import { findWalDamage } from './wal-repair.ts';

/** The largest log that is repaired, since it is read into memory. SQLite handles larger ones alone. */
const maxWalBytes = 1024 * 1024 * 1024;
const defaultPageSize = 4096;

/**
 * Repairs SQLite's log before the database is opened, if the log is damaged in the middle and holds more than a crash may take: SQLite
 * alone would forget every commit after the first damaged byte. It changes only checksums, and only if SQLite then finds the database
 * consistent; damage to messages shows in their own checksums. The original log is kept beside it. `mark` names the last commit that the
 * store is known to have.
 */
export function repairWal(
  file: string,
  mark: ReadMark | undefined,
  onDamage: (damage: Damage) => void,
): void {
  const wal = `${file}-wal`;
  // SQLite removes the log of a missing database.
  const content = existsSync(file) ? readWal(wal) : undefined;
  const found = content && findWalDamage(content, pageSizeOf(file));
  // A power cut may tear what was never synced, in any order of its frames.
  if (!found || (mark && (!mark.isCertain || lastCommitOf(file) >= mark.commit))) return;
  const kept = `${wal}.damaged`;
  copyFileSync(wal, kept);
  for (const candidate of found.candidates) {
    replaceWal(file, candidate);
    if (!isConsistent(file)) continue;
    const detail = `${found.damaged} frames in the middle of ${wal} were damaged; those behind them were saved. The log as it was is kept as ${kept}`;
    onDamage({ what: 'log', detail });
    return;
  }
  replaceWal(file, readFileSync(kept));
}

function readWal(wal: string): Buffer | undefined {
  if (!existsSync(wal)) return undefined;
  const content = readFileSync(wal);
  return content.length <= maxWalBytes ? content : undefined;
}

/** Reads the page size from the header of the database: https://sqlite.org/fileformat2.html#page_size */
function pageSizeOf(file: string): number {
  const header = Buffer.alloc(18);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, header);
  } finally {
    closeSync(handle);
  }
  const size = header.readUInt16BE(16);
  return size === 1 ? 65_536 : size >= 512 ? size : defaultPageSize;
}

function replaceWal(file: string, content: Buffer): void {
  rmSync(`${file}-shm`, { force: true });
  const draft = `${file}-wal.new`;
  writeFileSync(draft, content, { mode: 0o600, flush: true });
  renameSync(draft, `${file}-wal`);
  syncDirectory(dirname(file));
}

/** Returns the last commit that SQLite reads from the files in their present state: 0 if there was none, -1 if it can't read them. */
export function lastCommitOf(file: string): number {
  return (
    readOnly(file, (db) =>
      db
        .prepare<[], number>(
          `SELECT coalesce(max(number), 0) FROM (SELECT max(number) AS number FROM commit_log
             UNION ALL SELECT value FROM meta WHERE key = 'log_dropped')`,
        )
        .pluck()
        .get(),
    ) ?? -1
  );
}

function isConsistent(file: string): boolean {
  return readOnly(file, (db) => db.pragma('integrity_check(1)', { simple: true })) === 'ok';
}

/** Opens the database without writing into it or its log. Returns `undefined` if it can't be read. */
function readOnly<T>(file: string, read: (db: Database.Database) => T): T | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true });
    return read(db);
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}
