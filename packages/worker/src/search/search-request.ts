import type { CancelSignal } from '@signalbox/client';
import { searchReplySchema, type Tool } from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';

/** The longest query that the orchestrator accepts; a longer one is cut. */
const maxQueryLength = 256;

/** One search for tools. */
export interface SearchRequest {
  query: string;
  /** The most tools to return, at most 50. */
  limit: number;
  signal: CancelSignal;
  timeoutMs: number;
}

/**
 * Asks the orchestrator which tools of the agent's role fit the words of a query, best first. A tool that is not in the executor's list is
 * left out, because it was just added or removed. Every failure is a return value.
 */
export async function requestSearch(
  executor: McpProxyExecutor,
  { query, limit, signal, timeoutMs }: SearchRequest,
): Promise<CallResult<Tool[]>> {
  const body = { op: 'search', query: query.trim().slice(0, maxQueryLength), limit };
  const answer = await askOrchestrator(executor, body, { timeoutMs, signal });
  if (answer.error) return answer;
  const found = searchReplySchema.safeParse(answer.result);
  if (!found.success) return { error: unreadableAnswer('no list of tools') };
  const known = found.data.tools.map(({ name }) => executor.findTool(name));
  return { result: known.filter((tool) => tool !== undefined) };
}
