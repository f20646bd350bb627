import type { ToolCallError } from '@signalbox/protocol';

/**
 * Arguments that can be sent, or the error that tells the caller all their problems. `coerced` holds JSON pointers to the values that were
 * rewritten without loss.
 */
export type CheckedArguments =
  | { args: Record<string, unknown>; coerced: string[] }
  | { error: ToolCallError };
