import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import Database from 'better-sqlite3';
import { StoreError } from '../../store-error.ts';
import { makeDirectory } from '../data-directory-lock.ts';
import { openFile } from '../database.ts';

/** The version of the schema. It changes with each change of the tables. A journal of another version is refused. */
export const schemaVersion = 9;

// over_at and settled_at are in running_ms: the time for which the journal was open, in all processes together. Times of approvals are
// epoch milliseconds: a person decides by them. is_kept: the reply outlives its delivery. Once settled, this call counts as kept, and has
// limits of its own.
export const schema = `
  CREATE TABLE journal (id TEXT NOT NULL, checksum INTEGER NOT NULL, running_ms INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE generation (inbox TEXT PRIMARY KEY, list TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE call (
    agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    role TEXT NOT NULL,
    tool TEXT NOT NULL,
    thread TEXT,
    server TEXT,
    received_at INTEGER NOT NULL,
    started_at INTEGER,
    inbox TEXT NOT NULL,
    over_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT,
    settled_at INTEGER,
    is_kept INTEGER NOT NULL DEFAULT 0,
    reply_bytes INTEGER NOT NULL DEFAULT 0,
    reply TEXT,
    start_checksum INTEGER NOT NULL,
    end_checksum INTEGER,
    reply_checksum INTEGER,
    PRIMARY KEY (agent, request_id)
  );
  CREATE INDEX call_received ON call (received_at);
  CREATE INDEX call_settled ON call (is_kept, settled_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX call_kept ON call (agent, settled_at, reply_bytes) WHERE is_kept = 1 AND settled_at IS NOT NULL;
  CREATE INDEX call_unsettled ON call (inbox) WHERE settled_at IS NULL;
  CREATE TABLE approval (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    role TEXT NOT NULL,
    tool TEXT NOT NULL,
    server TEXT,
    definition_hash TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    arguments TEXT NOT NULL,
    meta_hash TEXT,
    meta TEXT,
    hidden INTEGER NOT NULL,
    rule TEXT NOT NULL,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (agent, request_id)
  );
  CREATE INDEX approval_key ON approval (agent, idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE TABLE approval_end (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    ended_at INTEGER NOT NULL,
    token_id TEXT,
    by_agent TEXT,
    standing TEXT,
    reason TEXT,
    checksum INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE approval_use (id TEXT PRIMARY KEY, checksum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE approval_attachment (
    agent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    id TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (agent, request_id)
  ) WITHOUT ROWID;
  CREATE INDEX approval_attachment_id ON approval_attachment (id);
  CREATE TABLE standing_approval (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    role TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    token_id TEXT NOT NULL,
    by_agent TEXT NOT NULL,
    reason TEXT,
    checksum INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE definition_sight (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (server, kind)
  ) WITHOUT ROWID;
  CREATE TABLE definition_pin (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    definition TEXT NOT NULL,
    at INTEGER NOT NULL,
    by_agent TEXT,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (server, kind, name)
  );
`;

/** The format that an SQLite file must have to be a journal: the SQL that made its tables, and its `user_version`. */
export const journalFormat = { schema, version: schemaVersion };

/** Explains the consequence of a new journal. */
const beginsAnew =
  'calls that were under way are then reported as outcome_unknown, and servers with definitions: pin are pinned anew as they are then';

/** The longest wait for a process that is about to close the file, in milliseconds. The wait blocks the event loop. */
const busyTimeoutMs = 1000;

/**
 * Opens or creates the database. Only its owner can read it, and no other process can open it until it is closed.
 * Throws the errors of {@link journalError}.
 */
export function openJournalDatabase(file: string): Database.Database {
  const synchronous = 'normal';
  try {
    makeDirectory(dirname(file));
    return openFile({ file, synchronous, ...journalFormat, busyTimeoutMs, otherVersion, isExclusive: true });
  } catch (thrown) {
    throw journalError(thrown, file);
  }
}

/**
 * Converts a failure of SQLite to a `SignalboxError` that says what to do: `journal_in_use`, `journal_corrupt`, `journal_full` or
 * `journal_failed`.
 */
export function journalError(thrown: unknown, file: string): SignalboxError {
  if (thrown instanceof SignalboxError) return thrown;
  // The error of a failed sync already names the log of the database.
  if (thrown instanceof StoreError)
    return new SignalboxError('journal_failed', thrown.message, { retryable: true, cause: thrown });
  const sqlite = thrown instanceof Database.SqliteError ? thrown.code : '';
  const fail = (code: string, advice: string, retryable = false) =>
    new SignalboxError(code, `${file}: ${messageOf(thrown)}. ${advice}`, { retryable, cause: thrown });
  if (sqlite.startsWith('SQLITE_BUSY')) {
    return new SignalboxError(
      'journal_in_use',
      `${file} is in use by another orchestrator. Stop that one, or use another directory`,
      { cause: thrown },
    );
  }
  if (sqlite === 'SQLITE_NOTADB' || sqlite.startsWith('SQLITE_CORRUPT')) {
    return fail('journal_corrupt', `Move the file away to begin a new journal: ${beginsAnew}`);
  }
  if (sqlite === 'SQLITE_FULL') return fail('journal_full', 'Make room on the disk', true);
  return fail('journal_failed', 'See that the orchestrator may write there', true);
}

function otherVersion(file: string, found: number): SignalboxError {
  return new SignalboxError(
    'journal_other_version',
    `${file} has version ${found} of the format, and this Signalbox reads version ${schemaVersion}. Use the one that wrote it, or move the file away to begin a new journal: ${beginsAnew}.`,
  );
}

const headerBytes = 32;
const frameHeaderBytes = 24;

/**
 * Tells whether SQLite has read only a part of its log: after the last frame that it accepts, there is another one that was written into
 * the same log. Then the log is damaged, or a power cut has torn the part that was not synced. Call it before the database is written
 * (https://sqlite.org/fileformat2.html#the_write_ahead_log).
 */
export function isLogShortened(db: Database.Database, file: string): boolean {
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
