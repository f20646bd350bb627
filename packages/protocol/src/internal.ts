// For our own packages and programs only: anything here may change in any version.

export { abortSignalOf, Cancellation } from './cancellation.ts';
export { figure } from './figure.ts';
export { holdSubject, holdText, isOnAgent } from './holds.ts';
export { annotationsSchema, optionalMeta, optionalText } from './mcp/definition-parts.ts';
export { parseBrokerAddresses, socketPathProblem, untrustedDirectory } from './names/broker-address.ts';
export { loopbackNames } from './names/loopback.ts';
export {
  nearestName,
  nearestNames,
  nearestTool,
  nearestToolHint,
  suggestion,
} from './names/nearest-name.ts';
export { mayMatchStart } from './names/star-pattern.ts';
export { dashboardPath, doesMoreThanAct, figuresAccessPath, listPermissions } from './permissions.ts';
export { errnoOf, failuresOf } from './signalbox-error.ts';
export { parseDuration } from './times/duration.ts';
export { parseInstant } from './times/instant.ts';
export { quotedLines, visible, visibleLine } from './visible-text.ts';
export { type HookSignature, hookSecret, hookSignatures } from './webhooks/hook-secret.ts';
