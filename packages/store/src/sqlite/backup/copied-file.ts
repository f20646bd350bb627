import { createHash } from 'node:crypto';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { isDamage } from '../database.ts';

/** A file of a backup: its length, and the SHA-256 of its content in hex. */
export interface CopiedFile {
  bytes: number;
  sha256: string;
}

const chunkBytes = 256 * 1024;

/** Makes a file that only its owner may read. Throws `EEXIST` if something with that name exists, including a link. */
export function makeEmptyFile(file: string): void {
  closeSync(openSync(file, 'wx', 0o600));
}

/** The number of free pages that are removed in one turn of the event loop. */
const pagesAtOnce = 64;

/** Makes a copied database complete without a log beside it, removes its free pages, and syncs it. */
export async function finishCopy(file: string): Promise<void> {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
    await removeFreePages(db);
  } finally {
    db.close();
  }
  await syncFile(file);
}

async function removeFreePages(db: Database.Database): Promise<void> {
  // A copy that is not finished is worth nothing, so that nothing is written to undo a step after a crash.
  db.pragma('journal_mode = MEMORY');
  db.pragma('synchronous = OFF');
  const countFree = db.prepare<[], number>('PRAGMA freelist_count').pluck();
  try {
    for (let [left, before] = [countFree.get()!, Number.POSITIVE_INFINITY]; left > 0 && left < before; ) {
      db.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
      [left, before] = [countFree.get()!, left];
      await nextTurn();
    }
  } catch (thrown) {
    // A copy of a damaged database is as good as the original with its free pages.
    if (!isDamage(thrown)) throw thrown;
  }
}

/** Syncs a file or a directory to the disk. */
export async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Reads a file in small steps. Returns its length and hash. Rejects with the error of the file system. */
export async function describeFile(file: string): Promise<CopiedFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
