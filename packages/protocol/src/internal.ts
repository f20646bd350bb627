// For our own packages and programs only: anything here may change in any version.

export { Budget } from './budget.ts';
export { abortSignalOf, Cancellation } from './cancellation.ts';
export type { CheckedArguments } from './checked-arguments.ts';
export { type Fault, faultAt, faultPoints, faultVariable, noFault } from './faults.ts';
export { figure } from './figure.ts';
export { holdSubject, holdText, isOnAgent } from './holds.ts';
export { parseBrokerAddresses, socketPathProblem, untrustedDirectory } from './names/broker-address.ts';
export { nearestName, suggestion } from './names/nearest-name.ts';
export { renewalCommand } from './names/renewal-command.ts';
export { clashingServers, serverPart } from './names/server-part.ts';
export { mayMatchStart } from './names/star-pattern.ts';
export { agentTokenMs, endsSoon } from './names/token-lifetime.ts';
export {
  type CallSizeLimits,
  callLimits,
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
export { dashboardPath, doesMoreThanAct, figuresAccessPath, listPermissions } from './permissions.ts';
export { SharedRoom, type Shortage } from './shared-room.ts';
export { errnoOf, failuresOf } from './signalbox-error.ts';
export { parseDuration } from './times/duration.ts';
export { parseInstant } from './times/instant.ts';
export { type TurnReader, Turns, unitsPerTurn } from './turns.ts';
export { quotedLines, visible, visibleLine } from './visible-text.ts';
export { type HookSignature, hookSecret, hookSignatures } from './webhooks/hook-secret.ts';
