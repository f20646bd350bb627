import { type CallStatus, callStatusSchema } from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';

const timeoutMs = 10_000;

/** Asks the orchestrator what became of one of the agent's own calls. Every failure is a return value. */
export async function requestCallStatus(
  executor: McpProxyExecutor,
  callId: string,
  signal: AbortSignal,
): Promise<CallResult<CallStatus>> {
  const body = { op: 'status', request_id: callId };
  const answer = await askOrchestrator(executor, body, { timeoutMs, signal });
  if (answer.error) return answer;
  const read = callStatusSchema.safeParse(answer.result);
  // The reply inside is a tool's own result, which is passed on as it came.
  if (read.success) return { result: answer.result as CallStatus };
  return { error: unreadableAnswer('no status of a call') };
}
