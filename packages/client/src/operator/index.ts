// Requests of an operator, over a connection of `connectBroker`. The answers are checked; a wrong one rejects.

export { type AgentSummary, agentSummaries } from './agents/agent-summaries.ts';
export { type FailedProgram, listFailedPrograms } from './agents/failed-programs.ts';
export { type KeptProcess, type ServedTurn, servedParts } from './agents/worker-status.ts';
export { answerRequest } from './answer-request.ts';
export { type BrokerStats, readStats } from './broker-stats.ts';
export { acceptClock, type ClockHold, readClock } from './clock.ts';
export {
  listSchedules,
  listWebhooks,
  type ScheduleReport,
  type WebhookReport,
} from './configured-senders.ts';
export {
  type DeadLetter,
  type DeadLetterChanges,
  dropDeadLetters,
  listDeadLetters,
  readDeadLetter,
  retryDeadLetters,
  stopWork,
} from './dead-letters.ts';
export {
  type AuditChainPage,
  type AuditQuery,
  type AuditRow,
  auditRows,
  readAudit,
  readAuditChain,
} from './history/audit.ts';
export { type HistoryMessage, readHistory } from './history/history.ts';
export {
  forgetThread,
  type KeptMessage,
  type KeptTexts,
  listThreads,
  readTexts,
  readThread,
  type ThreadsPage,
  type Transcript,
  type TranscriptEntry,
} from './history/threads.ts';
export { readTimeline, type Timeline, type TimelineEntry, type TimelineGroup } from './history/timeline.ts';
export { type HoldTarget, listHolds, placeHold, releaseHolds } from './holds.ts';
export {
  decideApproval,
  listApprovals,
  listStandingApprovals,
  readApproval,
  revokeStandingApproval,
} from './orchestrator/approvals.ts';
export {
  type CallList,
  type CallQuery,
  cancelCall,
  type ListedCall,
  listCalls,
  readCall,
  readCalls,
  readOwnCalls,
} from './orchestrator/calls.ts';
export { discoverServers, readManifest } from './orchestrator/lists.ts';
export {
  type OrchestratorAnswer,
  type OrchestratorQuery,
  queryOrchestrator,
} from './orchestrator/orchestrator-request.ts';
export {
  type Chart,
  type ChartSubject,
  type ChartUnit,
  readCharts,
} from './over-time/charts.ts';
export { readBrokerSamples, readOrchestratorSamples } from './over-time/read-samples.ts';
export { readTop, type Top } from './over-time/read-top.ts';
export { type RankedTool, type Ranking, rankings, rankTools } from './over-time/tool-ranking.ts';
export { type OrchestratorStatus, readStatus, type Status } from './status/read-status.ts';
export { followTail, type Tail, type TailOptions } from './tail/follow-tail.ts';
export type { TailEvent } from './tail/tail-event.ts';
export {
  type IssuedToken,
  issueToken,
  type ListedToken,
  listTokens,
  makeSignInLink,
  revokeAgentTokens,
  revokeToken,
} from './tokens.ts';
export { listOfflineWithMail, type WaitingAgent } from './waiting-agents.ts';
