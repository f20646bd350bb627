import { createHash } from 'node:crypto';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import Database from 'better-sqlite3';

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

/** Makes a copied database complete without a log beside it, and syncs it. Returns its length and hash. */
export async function finishCopy(file: string): Promise<CopiedFile> {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
  await syncFile(file);
  return await describeFile(file);
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
