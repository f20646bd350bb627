import { type CallStatus, callStatusSchema, type ToolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';

const timeoutMs = 10_000;

/** AskTable the orchestrator what became of a call of our own. Every failure is a return value. */
export async function requestCallStatus(
  executor: McpProxyExecutor,
  callId: string,
  signal: AbortSignal,
): Promise<{ status: CallStatus; error?: undefined } | { error: ToolCallError; status?: undefined }> {
  const body = { op: 'status', request_id: callId };
  const answer = await askOrchestrator(executor, body, { timeoutMs, signal });
  if (answer.error) return { error: answer.error };
  const read = callStatusSchema.safeParse(answer.data);
  // The reply inside is a tool's own result, which goes on as it came.
  if (read.success) return { status: answer.data as CallStatus };
  return { error: unreadableAnswer('no status of a call') };
}
