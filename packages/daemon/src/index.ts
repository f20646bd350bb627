// Everything for a program that runs a broker or an orchestrator itself. A program that runs only one of them loads less
// through '@signalbox/daemon/broker' or '@signalbox/daemon/orchestrator'.
export { type BrokerOptions, type RunningBroker, runBroker } from './broker/index.ts';
export { dataDirectory, localBrokerUrl, operatorToken } from './data-directory/index.ts';
export type { Log, LogEvent, LogLevel } from './log.ts';
export {
  checkPolicy,
  type OrchestratorOptions,
  type OrchestratorReport,
  type RunningOrchestrator,
  runOrchestrator,
} from './orchestrator/index.ts';
export { SupervisedChild, type SupervisedOptions } from './supervisor/index.ts';
