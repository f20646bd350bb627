import { mcpReplySchema, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { callResultOf } from './call-result.ts';
import type { McpProxyExecutor } from './mcp-proxy-executor.ts';

/** A question has no effect, and can be asked again without harm. */
const question: Tool = {
  name: 'question',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};

/** AskTable the orchestrator something that is answered with `data`, never stored. Every failure is a return value. */
export async function askOrchestrator(
  executor: McpProxyExecutor,
  body: { op: string; [field: string]: unknown },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<{ data: unknown; error?: undefined } | { error: ToolCallError }> {
  const outcome = await executor.client.request(executor.orchestrator, 'mcp_request', body, {
    ...options,
    ephemeral: true,
  });
  if (outcome.status !== 'completed') {
    const { error } = callResultOf(outcome, question);
    return { error: error ? { ...error, may_have_run: false } : unreadableAnswer('nothing that was asked') };
  }
  const reply = mcpReplySchema.safeParse(outcome.reply.json);
  if (reply.success && 'error' in reply.data) return { error: reply.data.error };
  // As it came: what a schema does not know would be dropped.
  return { data: (outcome.reply.json as { data?: unknown } | null)?.data };
}

/** For an answer that is not `what` was asked for. */
export function unreadableAnswer(what: string): ToolCallError {
  return toolCallError('internal', `the answer of the orchestrator is ${what}`, { mayHaveRun: false });
}
