import type { BrokerClient, CancelSignal } from '@signalbox/client';
import { mcpReplySchema, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { type CallResult, callResultOf } from './call-result.ts';

/** Makes a tool that stands for a question: a question has no effect and may be repeated. */
export function question(name: string): Tool {
  return { name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
}

/** The connection over which a question is asked, and the orchestrator that answers it, as in `McpProxyExecutor`. */
export interface Asker {
  readonly client: Pick<BrokerClient, 'request'>;
  /** The agent id of the orchestrator. */
  readonly orchestrator: string;
}

/**
 * Asks the orchestrator a question that it answers with `data`. Neither question nor answer is stored. Every failure is a return value.
 */
export async function askOrchestrator(
  { client, orchestrator }: Asker,
  body: { op: string; [field: string]: unknown },
  options: { timeoutMs: number; signal: CancelSignal },
): Promise<CallResult<unknown>> {
  const outcome = await client.request(orchestrator, 'mcp_request', body, {
    ...options,
    ephemeral: true,
  });
  if (outcome.status !== 'completed') {
    const { error } = callResultOf(outcome, question('question'));
    return { error: error ? { ...error, may_have_run: false } : unreadableAnswer('nothing that was asked') };
  }
  const reply = mcpReplySchema.safeParse(outcome.reply.json);
  if (reply.success && 'error' in reply.data) return { error: reply.data.error };
  // The answer is passed on as it came: a schema would drop the fields that it does not know.
  return { result: (outcome.reply.json as { data?: unknown } | null)?.data };
}

/** Makes the error for an answer of the wrong form; `what` names the answer that was expected. */
export function unreadableAnswer(what: string): ToolCallError {
  return toolCallError('internal', `the answer of the orchestrator is ${what}`, { mayHaveRun: false });
}
