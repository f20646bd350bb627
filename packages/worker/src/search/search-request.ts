import {
  mcpReplySchema,
  searchReplySchema,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { callResultOf } from '../call-outcome.ts';
import type { McpProxyExecutor } from '../mcp-proxy-executor.ts';

/** What of a query is sent; the orchestrator takes no longer one. */
const maxQueryLength = 256;

/** A question can be asked again without harm. */
const question: Tool = {
  name: 'search_tools',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};

export interface SearchRequest {
  query: string;
  /** At most 50. */
  limit: number;
  signal: AbortSignal;
  timeoutMs: number;
}

/** The tools that fit, best first, or why there was no answer. */
export type SearchResult = { tools: Tool[]; error?: undefined } | { error: ToolCallError; tools?: undefined };

/**
 * Asks the orchestrator which tools of our role fit a query's words; A tool that is not in
 * the list we hold is left out: it came or went this moment. Every failure is a return value.
 */
export async function requestSearch(
  executor: McpProxyExecutor,
  { query, limit, signal, timeoutMs }: SearchRequest,
): Promise<SearchResult> {
  const body = { op: 'search', query: query.trim().slice(0, maxQueryLength), limit };
  const outcome = await executor.client.request(executor.orchestrator, 'mcp_request', body, {
    timeoutMs,
    ephemeral: true,
    signal,
  });
  if (outcome.status !== 'completed') {
    const { error } = callResultOf(outcome, question);
    return { error: error ? { ...error, may_have_run: false } : unreadable() };
  }
  const reply = mcpReplySchema.safeParse(outcome.reply.json);
  if (reply.success && 'error' in reply.data) return { error: reply.data.error };
  const found = searchReplySchema.safeParse(
    reply.success && 'data' in reply.data ? reply.data.data : undefined,
  );
  if (!found.success) return { error: unreadable() };
  const known = found.data.tools.map(({ name }) => executor.findTool(name));
  return { tools: known.filter((tool) => tool !== undefined) };
}

function unreadable(): ToolCallError {
  return toolCallError('internal', 'the answer of the orchestrator is no list of tools', {
    mayHaveRun: false,
  });
}
