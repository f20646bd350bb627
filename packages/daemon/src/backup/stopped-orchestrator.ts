import { join } from 'node:path';
import { backupFiles } from '@signalbox/protocol';
import { copyStoppedJournal } from '@signalbox/store/internal';
import { orchestratorFiles } from '../data-directory/data-directory.ts';

/**
 * Copies the journal in a data directory whose orchestrator does not run into a backup. Returns its id, or `undefined` if there is no
 * journal. Rejects with `journal_in_use` if an orchestrator runs on it.
 */
export function copyJournalOf(dataDir: string, backup: string): Promise<string | undefined> {
  return copyStoppedJournal(orchestratorFiles(dataDir).journal, join(backup, backupFiles.journal));
}
