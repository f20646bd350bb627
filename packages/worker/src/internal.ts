// For our own packages and programs only: anything here may change in any version.

export type { SystemSettings } from './agent-clis/injection.ts';
export { agentPrograms } from './agent-clis/injection-table.ts';
export { hintOfAcp, settingsToAsk } from './agent-clis/permissions.ts';
export {
  clientSnippet,
  type FaceTarget,
  type SnippetClient,
  type SnippetFile,
  snippetClients,
} from './agent-clis/snippet.ts';
export { refuseUnwakeable } from './agent-clis/wake.ts';
export { type EchoOptions, type EchoWorker, startEchoWorker } from './echo/echo-worker.ts';
export type { TurnRef } from './mailbox/served/turn-messages.ts';
export { type AgentPlan, type AgentSetup, type MailHookCommand, planAgent } from './runner/agent-plan.ts';
export { inheritedEnvironment } from './runner/child-environment.ts';
export type { ChildToken, IssueToken } from './runner/child-token.ts';
export { type CleanupProcess, startCleanupProcess } from './runner/cleanup/cleanup-process.ts';
export { findProgram } from './runner/find-program.ts';
export { outputSink } from './runner/output/output-sink.ts';
export { type ProcessTokenOptions, processTokens, sameToken } from './runner/process-tokens.ts';
export { runRoots } from './runner/run-directory.ts';
export type { ProcessEnd, RunEvent, RunWarning } from './runner/run-event.ts';
export { openRunFace, type RunFace } from './runner/run-face.ts';
export { defaultRestartPolicy, type SupervisedAgent, superviseAgent } from './runner/supervise-agent.ts';
export { NotedTasks } from './serve/a2a/noted-tasks.ts';
export { outsideTurns } from './serve/a2a/outside-turns.ts';
export { type Peer, PeerError } from './serve/a2a/peer.ts';
export { isSafeForToken, peerFetch } from './serve/a2a/peer-fetch.ts';
export type { AcpAgent } from './serve/acp/acp-agents.ts';
export { checkAcpAgent } from './serve/acp/acp-check.ts';
export { type AcpFlags, acpAgentFor, acpTurns } from './serve/acp/acp-turns.ts';
export { KeptProcesses } from './serve/kept-processes.ts';
export { checkTurnProgram } from './serve/program/check-program.ts';
export { turnProgramOf } from './serve/program/program-table.ts';
export type { TurnProgram } from './serve/program/turn-program.ts';
export { planTurn, runTurn } from './serve/run-turn.ts';
export { type ServeAgentOptions, type ServedAgent, serveAgent } from './serve/serve-agent.ts';
export type { ServeEvent, ServeWarning, TurnOutcome } from './serve/serve-event.ts';
export { openThreadSessions, type ThreadSessions } from './serve/thread-sessions.ts';
export { outputKeeper } from './serve/turn-output.ts';
export type { TurnRunOptions } from './serve/turn-task.ts';
export { type SharedFace, type SharedFaceOptions, serveSharedFace } from './shared-face/shared-face.ts';
export type { FaceSessionEvent } from './shared-face/shim-connections.ts';
export { knownClients, patienceMs } from './tools/client-patience.ts';
