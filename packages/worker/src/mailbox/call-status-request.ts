import {
  type CallStatus,
  callStatusSchema,
  mcpReplySchema,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { callResultOf } from '../call-outcome.ts';
import type { McpProxyExecutor } from '../mcp-proxy-executor.ts';

const answerTimeoutMs = 10_000;

/** A question can be asked again without harm. */
const question: Tool = {
  name: 'signalbox_call_result',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};

/** Asks the orchestrator what became of a call of our own. Every failure is a return value. */
export async function requestCallStatus(
  executor: McpProxyExecutor,
  callId: string,
  signal: AbortSignal,
): Promise<{ status: CallStatus; error?: undefined } | { error: ToolCallError; status?: undefined }> {
  const body = { op: 'status', request_id: callId };
  const outcome = await executor.client.request(executor.orchestrator, 'mcp_request', body, {
    timeoutMs: answerTimeoutMs,
    ephemeral: true,
    signal,
  });
  if (outcome.status !== 'completed') {
    const { error } = callResultOf(outcome, question);
    return { error: error ?? unreadable() };
  }
  const reply = mcpReplySchema.safeParse(outcome.reply.json);
  if (reply.success && 'error' in reply.data) return { error: reply.data.error };
  const { data } = (outcome.reply.json ?? {}) as { data?: unknown };
  const read = callStatusSchema.safeParse(data);
  // The reply inside is a tool's own result, which goes on as it came.
  return read.success ? { status: data as CallStatus } : { error: unreadable() };
}

function unreadable(): ToolCallError {
  const message = 'the answer of the orchestrator is no status of a call';
  return toolCallError('internal', message, { mayHaveRun: false });
}
