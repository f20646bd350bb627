export { checkPolicy } from '../policy/policy.ts';
export type { OrchestratorReport, ServerStart } from './orchestrator-report.ts';
export {
  type RunningOrchestrator,
  type RunOrchestratorOptions,
  runOrchestrator,
} from './run-orchestrator.ts';
