import { type AskPermissionRequest, questionHash, toolCallError } from '@signalbox/protocol';
import type { RoundResult } from './call-result.ts';
import type { ExecuteOptions } from './tool-call.ts';

/** A question of an agent's CLI: whether it may use a tool of its own with this input. */
export type PermissionQuestion = Omit<AskPermissionRequest, 'op'>;

/** The callbacks and the cancellation of a question. */
export type PermissionOptions = Omit<ExecuteOptions, 'timeoutMs' | 'meta'>;

/**
 * The longest time for which a question waits, in milliseconds, including an absence of the orchestrator and a hold. The configuration's
 * `approvals.deadlineMs`, which begins when the orchestrator has the question, is usually shorter.
 */
export const permissionTimeoutMs = 7 * 86_400_000;

/**
 * Returns how a question ended. A permission that names another question counts as no permission: another process with the agent's token
 * may have asked under the same id before.
 */
export async function endOfQuestion(asked: PermissionQuestion, outcome: RoundResult): Promise<RoundResult> {
  if (outcome.error) return outcome;
  const { structuredContent: told } = outcome.result as { structuredContent?: { question_hash?: unknown } };
  if (told?.question_hash === (await questionHash(asked))) return outcome;
  const message = 'the answer is to another question, which was asked under the same id before';
  const hint = 'Nobody was asked about this use of the tool. Use it again, which asks anew.';
  return { error: toolCallError('approval_superseded', message, { mayHaveRun: false, hint }) };
}
