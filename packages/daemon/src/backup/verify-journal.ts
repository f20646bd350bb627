import { inspectJournal, type JournalContents, journalFormat, readDatabase } from '@signalbox/store/internal';

/** Reads every row of a journal that nobody uses, and checks it. Changes nothing. Throws a `StoreError`. */
export function verifyJournal(file: string): JournalContents {
  return readDatabase(file, journalFormat, (db, problems) => {
    const found = inspectJournal(db);
    return { ...found, problems: [...problems, ...found.problems] };
  });
}
