// For our own packages and programs only: anything here may change in any version.

export { serverPart } from '@signalbox/protocol/tool-label';
export { type Backoff, backoffMs } from './backoff.ts';
export { boundedText } from './bounded-text.ts';
export { Budget } from './budget.ts';
export type { CheckedArguments } from './checked-arguments.ts';
export { type Fault, faultAt, faultPoints, faultVariable, noFault } from './faults.ts';
export { LineWriter } from './line-writer.ts';
export {
  type A2aLimits,
  a2aLimits,
  type CallSizeLimits,
  callLimits,
  defaultA2aLimits,
  defaultCallSizeLimits,
  defaultFaceLimits,
  defaultJournalLimits,
  defaultResultLimits,
  type FaceLimits,
  faceLimits,
  type JournalLimits,
  journalLimits,
  type ResultLimits,
  resultLimits,
} from './part-limits.ts';
export { type ListPlace, PassingList } from './passing-list.ts';
export { PassingMap } from './passing-map.ts';
export { renewalCommand } from './renewal-command.ts';
export { RestartBudget } from './restart-budget.ts';
export { clashingServers } from './server-part.ts';
export { SharedRoom, type Shortage } from './shared-room.ts';
export { type SliceReader, Slices, unitsPerSlice } from './slices.ts';
export { late, longestTimerMs, timerMs, within } from './time-limit.ts';
export { agentTokenMs, endsSoon } from './token-lifetime.ts';
