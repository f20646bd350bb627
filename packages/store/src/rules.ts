/** The rules that all implementations of the ports share. None of them reads or writes anything. */
export { agentOf } from './agent-of.ts';
export { AuditBuffer } from './audit-buffer.ts';
export { auditRow, type CountedEvent, firstHash } from './audit-chain.ts';
export { type AuditQuery, auditKinds } from './audit-log.ts';
export {
  type BatchDeadLetters,
  type BatchMessages,
  type BatchScheduled,
  type BatchUsage,
  BatchWriter,
  type CountedInbox,
  requestKeyOf,
} from './batch-writer.ts';
export { capsOf, type StoreCaps } from './caps.ts';
export {
  type DeadLetterLimits,
  defaultDeadLetterLimits,
  droppedOf,
  dropsPerStep,
  quietTrimMs,
} from './dead-letter-surplus.ts';
export { ageOf, hasExpired, keptTimeOf, keptTimeText } from './expiry-time.ts';
export { PageOfHistory } from './history-page.ts';
export { startedAlready } from './journal/started-already.ts';
export { maxCounted } from './kept-bodies.ts';
export { keptBodiesOf, keptOverheadBytes, searchedText, searchedWords } from './kept-rules.ts';
export {
  type Ending,
  foundMessageOf,
  type LoggedMessage,
  repeatOf,
  type SharedFields,
  sharedFieldsOf,
  storedMessageOf,
  storedMetadataOf,
  withTaker,
} from './logged-message.ts';
export {
  type ForgottenRequest,
  type FoundRequest,
  findRequest,
  hasEnd,
  inboxesOf,
  type RequestSource,
} from './open-requests.ts';
export {
  cursorOf,
  placeOf,
  releaseOf,
  type ScheduledPlace,
  scheduledLogged,
  scheduledMessageOf,
  type Taken,
} from './scheduled-rules.ts';
export {
  type ContentCounts,
  ContentDigest,
  type ContentItems,
  type ContentKind,
  type ContentPart,
} from './store-content.ts';
export { StoreError, type StoreErrorCode } from './store-error.ts';
export { TrustedTime } from './trusted-time.ts';
