import { existsSync } from 'node:fs';
import { SignalboxError } from '@signalbox/protocol';
import type Database from 'better-sqlite3';
import { finishCopy, makeEmptyFile } from '../backup/copied-file.ts';
import { journalError, openJournalDatabase } from './journal-database.ts';

/** The number of pages that are copied in one turn of the event loop. */
const pagesAtOnce = 64;

/**
 * Copies an open journal to a file that does not exist, while calls continue. The copy is one file, readable by its owner only, and on disk
 * when this resolves. Rejects with `SignalboxError` `journal_…`; the caller removes the incomplete copy.
 */
export async function copyOpenJournal(db: Database.Database, target: string): Promise<void> {
  try {
    makeEmptyFile(target);
    await db.backup(target, { progress: () => pagesAtOnce });
    await finishCopy(target);
  } catch (thrown) {
    throw journalError(thrown, target);
  }
}

/**
 * Copies the journal of an orchestrator that does not run. Returns its id, or `undefined` if there is no such file. Rejects with
 * `SignalboxError` `journal_in_use` if an orchestrator runs on it.
 */
export async function copyStoppedJournal(file: string, target: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  const db = openJournalDatabase(file);
  try {
    await copyOpenJournal(db, target);
    return journalId(db, file);
  } finally {
    db.close();
  }
}

/** Reads the id of a journal. Throws `journal_corrupt` if it has none. */
export function journalId(db: Database.Database, file: string): string {
  const id = findJournalId(db);
  if (id === undefined)
    throw new SignalboxError('journal_corrupt', `${file}: the journal has no id; restore a backup`);
  return id;
}

/** Reads the id of a journal, if it has one. */
export function findJournalId(db: Database.Database): string | undefined {
  return db.prepare<[], string>('SELECT id FROM journal').pluck().get();
}
