export { type CacheKey, canonicalJson } from './cache/cache-key.ts';
export { type AnswerLifetime, ResponseCache } from './cache/response-cache.ts';
export { gaveUp, withDeadline } from './caller-signal.ts';
export {
  cancelledCall,
  circuitOpen,
  errorOfFailure,
  noWaitingCall,
  type Outage,
  unreachable,
  withEarlierTry,
} from './errors/call-errors.ts';
export { type Failure, isSessionUnknown, redactedFailure } from './errors/failure.ts';
export { mcpErrorCode } from './errors/mcp-error-code.ts';
export { readRetryAfter } from './errors/retry-after.ts';
export { boundedWords, serversWords } from './errors/servers-words.ts';
export type {
  AskingCall,
  Caller,
  CallOptions,
  FailedCall,
  ToolCallResult,
  ToolProgress,
} from './tool-call.ts';
export { ToolDigests } from './tool-digests.ts';
export type { NamedSecret, ToolProblem, ToolProvider } from './tool-provider.ts';
