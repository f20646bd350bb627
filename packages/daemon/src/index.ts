// For programs that run a broker and an orchestrator. A program that runs only one of them loads less through
// '@signalbox/daemon/broker' or '@signalbox/daemon/orchestrator'.
export { type RunBrokerOptions, type RunningBroker, runBroker } from './broker/index.ts';
export { dataDirectory, localBrokerUrl, operatorToken } from './data-directory/index.ts';
export type { Log, LogEvent, LogLevel } from './log.ts';
export {
  checkPolicy,
  type OrchestratorReport,
  type RunningOrchestrator,
  type RunOrchestratorOptions,
  runOrchestrator,
} from './orchestrator/index.ts';
export { SupervisedChild, type SupervisedOptions } from './supervisor/index.ts';
