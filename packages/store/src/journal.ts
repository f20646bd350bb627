/** The journal of tool calls: its port with approvals and pinned definitions, and the journal on SQLite. */
export {
  type ApprovalEnd,
  type ApprovalRecord,
  type BoundCall,
  type Decider,
  type ProposedCall,
  type StandingRecord,
  unknownDefinition,
} from './journal/approval-record.ts';
export type { ApprovalQuery, ApprovalStore, NumberedApproval } from './journal/approval-store.ts';
export type { CallKey } from './journal/call-key.ts';
export type {
  Definition,
  DefinitionKey,
  DefinitionPins,
  NewPins,
  Pin,
  ServerPins,
} from './journal/definition-pins.ts';
export type {
  CallEnd,
  Journal,
  JournalEntry,
  JournalQuery,
  JournalRecord,
  OwnCallsQuery,
  ReceivedCall,
  SettledHow,
  StartedCall,
} from './journal/journal.ts';
export type { JournalRetention } from './sqlite/journal/call-table.ts';
export { openSqliteJournal, type SqliteJournalOptions } from './sqlite/journal/sqlite-journal.ts';
