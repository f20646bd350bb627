export { checkPolicy } from '../policy/policy.ts';
export type { OrchestratorReport } from './orchestrator-report.ts';
export {
  type OrchestratorOptions,
  type RunningOrchestrator,
  runOrchestrator,
} from './run-orchestrator.ts';
