export {
  type ChildReport,
  errorOf,
  type Failure,
  failureOf,
  isSupervised,
  reportToSupervisor,
} from './child-report.ts';
export { SupervisedChild, type SupervisedOptions } from './supervised-child.ts';
