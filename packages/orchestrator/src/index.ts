export type {
  ApprovalEnd,
  ApprovalRecord,
  ProposedCall,
  StandingRecord,
} from './approvals/approval-record.ts';
export type { ApprovalQuery, ApprovalStore, NumberedApproval } from './approvals/approval-store.ts';
export type { ApprovalPolicy, AskRule } from './approvals/ask-rules.ts';
export type { Budget, CallBudgets } from './budgets/call-budgets.ts';
export type { CallKey } from './journal/call-key.ts';
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
export type { JournalRetention } from './journal/sqlite/call-table.ts';
export { openSqliteJournal, type SqliteJournalOptions } from './journal/sqlite/sqlite-journal.ts';
export { type Policy, wholePolicy } from './operator/policy.ts';
export { type Orchestrator, type OrchestratorOptions, startOrchestrator } from './orchestrator.ts';
export type { ResultRule, ResultRules } from './results/result-rules.ts';
export { ResultStore, type ResultStoreOptions } from './results/result-store.ts';
export type { MailboxRule, MailboxRules } from './roles/mailbox-rules.ts';
export type { RepeatLists } from './roles/repeat-lists.ts';
export { type OfferPatterns, RoleOfferAllowlist } from './roles/role-offer-allowlist.ts';
export { type AllowlistRule, RoleToolAllowlist, type UnlistedRoles } from './roles/role-tool-allowlist.ts';
export type { CallLimits, ServerLimits } from './scheduling/call-limits.ts';
