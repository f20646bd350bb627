export { type RestoredBackup, type RestoreOptions, restoreBackup } from './restore-backup.ts';
export { verifyStoppedData } from './stopped-data.ts';
export { copyJournalOf } from './stopped-orchestrator.ts';
export {
  type BackupContents,
  type BackupProblem,
  type VerifiedBackup,
  verifyBackup,
} from './verify-backup.ts';
export { verifyJournal } from './verify-journal.ts';
