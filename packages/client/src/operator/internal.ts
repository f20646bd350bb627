// For our own packages and programs only: anything here may change in any version.

export { type Fleet, readFleet, summariesOf } from './agents/list-agents.ts';
export { addJournal, type BackupJournal, type BegunBackup, beginBackup, finishBackup } from './backup.ts';
export { isDiskNearlyFull, isStoreNearlyFull, littleRoomBytes } from './broker-stats.ts';
export { isNotableLeap } from './clock.ts';
export { auditPageSize, readAuditPage } from './history/audit.ts';
export { isOfCall } from './history/timeline.ts';
export { checkToolPattern } from './holds.ts';
export { type OpenCalls, readOpenCalls } from './orchestrator/approvals.ts';
export {
  isPartOfTool,
  maxCalls,
  maxOwnCalls,
  queryCalls,
  requireOrchestrator,
} from './orchestrator/calls.ts';
export { type FailedOutcome, outcomeError } from './orchestrator/failed-outcome.ts';
export { hostProblems } from './orchestrator/host-problems.ts';
export { replyError, sendOrchestratorRequest } from './orchestrator/orchestrator-request.ts';
export { serverFailure } from './orchestrator/server-failure.ts';
export { isRestOfTools } from './over-time/tool-ranking.ts';
export { isRenewedByHand } from './tokens.ts';
export {
  countQuestions,
  listWaiting,
  questionKinds,
  readOperatorMail,
  type WaitingQuestions,
} from './waiting-agents.ts';
