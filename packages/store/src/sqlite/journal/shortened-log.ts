import { readFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Tells whether SQLite has read only a part of its log: after the last frame that it accepts, there is another one that was written into
 * the same log. Then the log is damaged, or a power cut has torn the part that was not synced. Call it before the database is written
 * (https://sqlite.org/fileformat2.html#the_write_ahead_log).
 */
export function isLogShortened(db: Database, file: string): boolean {
  let log: Buffer;
  try {
    log = readFileSync(`${file}-wal`);
  } catch {
    return false;
  }
  if (log.length < headerBytes + frameHeaderBytes) return false;
  const [read] = db.pragma('wal_checkpoint(PASSIVE)') as { log: number }[];
  const frameBytes = frameHeaderBytes + (db.pragma('page_size', { simple: true }) as number);
  const salts = log.subarray(16, 24);
  const accepted = Math.max(read?.log ?? 0, 0);
  // Without any accepted frame the header itself may be damaged. Then the first frame has the original salts.
  if (accepted === 0) return true;
  for (let at = headerBytes + accepted * frameBytes; at + frameBytes <= log.length; at += frameBytes)
    if (log.subarray(at + 8, at + 16).equals(salts)) return true;
  return false;
}
