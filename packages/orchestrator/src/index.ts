export { type AllowlistWarning, allowlistWarnings } from './allowlist-warnings.ts';
export type { CallEnd, CallKey, Journal, JournalEntry, StartedCall } from './journal/journal.ts';
export type { JournalRetention } from './journal/sqlite/call-table.ts';
export { openSqliteJournal, type SqliteJournalOptions } from './journal/sqlite/sqlite-journal.ts';
export { type Orchestrator, type OrchestratorOptions, startOrchestrator } from './orchestrator.ts';
export type { RepeatLists } from './repeat-words.ts';
export { RoleToolAllowlist, type UnlistedRoles } from './role-tool-allowlist.ts';
export type { CallLimits } from './scheduling/call-limits.ts';
