export {
  type AuditChain,
  type AuditEvent,
  type AuditKind,
  type AuditLog,
  type AuditRow,
  auditKinds,
} from './audit-log.ts';
export {
  type Amount,
  type Excess,
  type GivenCaps,
  type SenderCaps,
  type StoreCaps,
  withoutReserve,
} from './caps.ts';
export type {
  Claimed,
  ClaimRequest,
  ClusterListener,
  ClusterPort,
  KeyMode,
  LiveMessage,
} from './cluster-port.ts';
export type { Damage } from './damage.ts';
export type { DeadLetter, DeadLetters, Retried } from './dead-letters.ts';
export { ageOf, type ExpiryTime, hasExpired, type KeptTime, presentFor, steadyTime } from './expiry-time.ts';
export type { HistoryEntry, HistoryPage, HistoryQuery } from './history.ts';
export type {
  Appended,
  Backlog,
  Batch,
  FoundMessage,
  InboxBacklog,
  InboxStats,
  InboxStore,
  JournalBound,
  JournalClaim,
  RequestKey,
  RequestState,
  Settlement,
  Taking,
  WaitingAgent,
  WaitingPage,
} from './inbox-store.ts';
export type {
  KeepBodies,
  KeptBodies,
  KeptBody,
  KeptThread,
  KeptThreadsPage,
  ThreadsQuery,
} from './kept-bodies.ts';
export { listedText } from './kept-rules.ts';
export type {
  GroupFields,
  NewMessage,
  Outcome,
  Release,
  SentToAll,
  StoredMessage,
  StoredMetadata,
} from './message.ts';
export type {
  CallerElsewhere,
  LivingBroker,
  PresencePort,
  PresenceQuery,
  PresentCaller,
} from './presence-port.ts';
export type {
  ScheduledMessage,
  ScheduledMessages,
  ScheduledPage,
  ScheduledQuery,
} from './scheduled-messages.ts';
export { openSqliteAuditLog, type SqliteAuditLogOptions } from './sqlite/audit-log/audit-log.ts';
export { openSqliteInboxStore, type SqliteInboxStoreOptions } from './sqlite/inbox-store/inbox-store.ts';
export { openSqliteTokenStore, type SqliteTokenStoreOptions } from './sqlite/token-store.ts';
export { isFinalFailure, StoreError, type StoreErrorCode } from './store-error.ts';
export type {
  HoldRecord,
  Permission,
  TokenChanges,
  TokenIssuer,
  TokenRecord,
  TokenStore,
} from './token-store.ts';
