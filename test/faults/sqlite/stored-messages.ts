import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteInboxStore } from '@signalbox/store';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { type StoredMessages, storedMessagesOf } from '../stored-messages.ts';

/**
 * Reads a copy of the database, which a store opens as after a crash: the broker may be running, or have died. A journal is only read if it
 * is named: then no orchestrator may run.
 */
export async function readStoredMessages(
  dataDir: string,
  inbox: string,
  journalFile?: string,
): Promise<StoredMessages> {
  await using directory = await tempDir();
  const file = join(directory.path, 'messages.db');
  const original = join(dataDir, 'messages.db');
  // The mark comes first: it must not name a commit that is not in the copy.
  copyFileSync(`${original}.mark`, `${file}.mark`);
  const database = new Database(original, { readonly: true });
  try {
    await database.backup(file);
  } finally {
    database.close();
  }
  await using store = await openSqliteInboxStore({ file, durability: 'process' });
  await using journal = journalFile === undefined ? null : await openSqliteJournal({ file: journalFile });
  return await storedMessagesOf(store, inbox, journal ?? undefined);
}
