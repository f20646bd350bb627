import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallStatus,
  callStatusSchema,
  mayRepeat,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { RoundResult } from './call-result.ts';
import { type Asker, askOrchestrator } from './orchestrator-question.ts';
import type { ExecuteOptions } from './tool-call.ts';

/** The time in which a reply that is still on its way arrives, in milliseconds. */
const firstAskMs = 1_000;
const askAgainMs = 2_000;
const askTimeoutMs = 10_000;
/**
 * The number of answers in a row that the call is unknown after which it counts as unknown. A connected orchestrator takes a request from
 * its inbox sooner than that.
 */
const maxUnknown = 5;

/**
 * Finds the end of a call whose request the broker had already, in case its reply came and is lost. Resolves when the orchestrator says
 * that the call has ended, or that it does not know it; rejects when `signal` aborts.
 */
export async function endOfRepeated(
  asker: Asker,
  {
    callId,
    tool,
    onAwaitingApproval,
  }: { callId: string; tool: Tool } & Pick<ExecuteOptions, 'onAwaitingApproval'>,
  signal: AbortSignal,
): Promise<RoundResult> {
  let unknown = 0;
  for (let waitMs = firstAskMs; ; waitMs = askAgainMs) {
    await delay(waitMs, undefined, { signal, ref: false });
    const question = { op: 'status', request_id: callId };
    const { result } = await askOrchestrator(asker, question, { timeoutMs: askTimeoutMs, signal });
    const read = callStatusSchema.safeParse(result);
    if (!read.success) continue;
    if (read.data.state === 'finished') return endedAs(result as Finished, tool);
    // The dead process was told about it, and this one was not.
    if (read.data.state === 'awaiting_approval') onAwaitingApproval?.(read.data.approval);
    unknown = read.data.state === 'unknown' ? unknown + 1 : 0;
    if (unknown < maxUnknown) continue;
    return { error: lost('the orchestrator knows nothing of the call any more', tool) };
  }
}

type Finished = CallStatus & { state: 'finished' };

/** Takes the reply from the status, unchanged. */
function endedAs({ outcome, reply }: Finished, tool: Tool): RoundResult {
  if (reply && 'result' in reply) return { result: reply.result };
  if (reply && 'error' in reply) return { error: reply.error };
  if (reply && 'input_required' in reply) return { result: reply.input_required };
  return { error: lost(`the call ended (${outcome}), and its result is no longer kept`, tool) };
}

function lost(message: string, tool: Tool): ToolCallError {
  if (mayRepeat(tool, true)) return toolCallError('mcp_server_unreachable', message, { mayHaveRun: true });
  const hint = 'Find out whether it took effect before you call it again.';
  return toolCallError('outcome_unknown', message, { mayHaveRun: true, hint });
}
