import { SignalboxError } from '@signalbox/protocol';
import Database from 'better-sqlite3';
import { CallTable } from './call-table.ts';
import { journalId } from './journal-copy.ts';
import { journalError, openJournalDatabase } from './journal-database.ts';

/** What a journal holds. */
export interface JournalContents {
  id: string;
  calls: number;
}

/** Reads every call of a journal that nobody uses, and changes nothing. Throws `SignalboxError` `journal_…`. */
export function inspectJournal(file: string): JournalContents {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const result = db.pragma('integrity_check(1)', { simple: true });
    if (result !== 'ok') throw new SignalboxError('journal_corrupt', `${file}: ${String(result)}`);
    const table = new CallTable(db);
    const damaged = table.countDamaged();
    if (damaged > 0) throw new SignalboxError('journal_corrupt', `${file}: ${damaged} calls are damaged`);
    return { id: journalId(db, file), calls: table.list({ limit: Number.MAX_SAFE_INTEGER }).length };
  } catch (thrown) {
    throw journalError(thrown, file);
  } finally {
    db?.close();
  }
}

/**
 * Makes a restored journal foreign to every broker: it no longer claims what it knows to be all that was started. Throws
 * `SignalboxError` `journal_…`.
 */
export function disownRestoredJournal(file: string): void {
  const db = openJournalDatabase(file);
  try {
    db.exec('DELETE FROM generation');
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch (thrown) {
    throw journalError(thrown, file);
  } finally {
    db.close();
  }
}
