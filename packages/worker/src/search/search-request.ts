import { searchReplySchema, type Tool, type ToolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';

/** What of a query is sent; the orchestrator takes no longer one. */
const maxQueryLength = 256;

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
 * AskTable the orchestrator which tools of our role fit a query's words. A tool that is not in
 * the list we hold is left out: it came or went this moment. Every failure is a return value.
 */
export async function requestSearch(
  executor: McpProxyExecutor,
  { query, limit, signal, timeoutMs }: SearchRequest,
): Promise<SearchResult> {
  const body = { op: 'search', query: query.trim().slice(0, maxQueryLength), limit };
  const answer = await askOrchestrator(executor, body, { timeoutMs, signal });
  if (answer.error) return { error: answer.error };
  const found = searchReplySchema.safeParse(answer.data);
  if (!found.success) return { error: unreadableAnswer('no list of tools') };
  const known = found.data.tools.map(({ name }) => executor.findTool(name));
  return { tools: known.filter((tool) => tool !== undefined) };
}
