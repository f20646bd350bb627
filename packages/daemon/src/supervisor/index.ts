export {
  type ChildReport,
  errorOf,
  type Failure,
  failureOf,
  handedOver,
  isSupervised,
  reportToSupervisor,
} from './child-report.ts';
export { SupervisedChild, type SupervisedOptions } from './supervised-child.ts';
