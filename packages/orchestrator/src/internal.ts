// For our own packages and programs only: anything here may change in any version.

export {
  disownRestoredJournal,
  inspectJournal,
  type JournalContents,
} from './journal/sqlite/journal-backup.ts';
export { copyStoppedJournal } from './journal/sqlite/journal-copy.ts';
export { journalFormat } from './journal/sqlite/journal-database.ts';
export { type AllowlistWarning, allowlistWarnings } from './roles/allowlist-warnings.ts';
export { mayMeanToolOf } from './roles/tool-pattern.ts';
