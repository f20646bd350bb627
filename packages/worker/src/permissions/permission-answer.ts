import type { ToolCallError } from '@signalbox/protocol';
import { failureText } from '../tools/tool-result.ts';

/** The answer of a permission tool, as Claude Code reads it from the text of a result. A denial's message is what its model reads. */
export type PermissionAnswer =
  | { behavior: 'allow'; updatedInput: Record<string, unknown> }
  | { behavior: 'deny'; message: string };

/**
 * Returns the answer to a question that ended with an error, or without one. A question that nobody decided is denied, in words for a
 * model.
 */
export function permissionAnswer(
  input: Record<string, unknown>,
  error: ToolCallError | undefined,
): PermissionAnswer {
  if (!error) return { behavior: 'allow', updatedInput: input };
  // Nothing has run, no matter how the question ended.
  return { behavior: 'deny', message: failureText({ ...error, may_have_run: false }) };
}
