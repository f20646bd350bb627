// For programs that run a broker and an orchestrator. A program that runs only one of them loads less through
// '@signalbox/daemon/broker' or '@signalbox/daemon/orchestrator'.
export { type RunBrokerOptions, type RunningBroker, runBroker } from './broker/index.ts';
export type { Log, LogEvent, LogLevel } from './log.ts';
export {
  type OrchestratorReport,
  type RunningOrchestrator,
  type RunOrchestratorOptions,
  runOrchestrator,
} from './orchestrator/index.ts';
