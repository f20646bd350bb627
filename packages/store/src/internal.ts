// For our own packages and programs only: anything here may change in any version.

export { AuditChainCheck } from './audit-chain.ts';
export { verifyAuditLog } from './sqlite/audit-log/verify-audit-log.ts';
export { type CopiedFile, describeFile, syncFile } from './sqlite/backup/copied-file.ts';
export { copyDatabase } from './sqlite/backup/copy-database.ts';
export { type DatabaseFormat, readDatabase } from './sqlite/backup/read-database.ts';
export { claimRestoredStore, dropRestoredTokens } from './sqlite/backup/restored.ts';
export { type SqliteFiles, sqliteContent } from './sqlite/content/sqlite-content.ts';
export { holdStoppedDirectory, lockDataDirectory } from './sqlite/data-directory-lock.ts';
export { type ExpectedDatabase, refuseAbsent } from './sqlite/database.ts';
export { type VerifiedStore, verifyInboxStore } from './sqlite/inbox-store/verify.ts';
export {
  disownRestoredJournal,
  inspectJournal,
  type JournalContents,
} from './sqlite/journal/journal-backup.ts';
export { copyStoppedJournal } from './sqlite/journal/journal-copy.ts';
export { journalFormat } from './sqlite/journal/journal-database.ts';
export { type VerifiedTokens, verifyTokenStore } from './sqlite/token-store.ts';
export { WalSync } from './sqlite/wal-sync.ts';
