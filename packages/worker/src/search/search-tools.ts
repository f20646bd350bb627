import { type Tool, toolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { FaceAnswer, FaceCall, FaceTools } from '../tools/face-tools.ts';
import { callHosted, type HostedToolsOptions, hostedTools } from '../tools/hosted-tools.ts';
import { failedResultOf } from '../tools/tool-result.ts';
import { foundToolsResult } from './found-tools.ts';
import { readCallArguments, readSearchArguments } from './search-arguments.ts';
import { callToolName, searchDefinitions, searchToolName } from './search-definitions.ts';
import { requestSearch } from './search-request.ts';

const defaultSearchTimeoutMs = 10_000;

export interface SearchToolsOptions extends HostedToolsOptions {
  /** The longest wait for the answer to a search, in milliseconds; default 10 s. */
  searchTimeoutMs?: number;
}

/**
 * Shows two tools in place of the orchestrator's: `search_tools` finds some of those, and `call_tool` calls one. Any other name is called
 * as by {@link hostedTools}; hosted tools with the names of these two are reached through `call_tool`.
 */
export function searchTools(executor: McpProxyExecutor, options: SearchToolsOptions = {}): FaceTools {
  const { searchTimeoutMs = defaultSearchTimeoutMs } = options;
  const hosted = hostedTools(executor, options);
  return {
    list: () => [...searchDefinitions],
    call(call) {
      if (call.name === searchToolName) return search(executor, call, searchTimeoutMs);
      if (call.name === callToolName) return callByName(executor, call, options);
      return hosted.call(call);
    },
    onChanged: () => () => {},
    instructions: () => [...searchInstructions(executor.listTools()), ...hosted.instructions()],
  };
}

async function search(
  executor: McpProxyExecutor,
  { arguments: given, signal }: FaceCall,
  timeoutMs: number,
): Promise<FaceAnswer> {
  const { value, problem } = readSearchArguments(given);
  if (problem !== undefined) return wrongArguments(searchToolName, problem);
  const { result: tools, error } = await requestSearch(executor, { ...value, signal, timeoutMs });
  const result = error
    ? failedResultOf(error, undefined)
    : foundToolsResult(value.query, tools, executor.toolCount);
  return { result };
}

/** Calls a tool by name. An unknown name is a result with `isError` here, so that the model sees the hint and can act on it. */
async function callByName(
  executor: McpProxyExecutor,
  call: FaceCall,
  options: HostedToolsOptions,
): Promise<FaceAnswer> {
  const { value, problem } = readCallArguments(call.arguments);
  if (problem !== undefined) return wrongArguments(callToolName, problem);
  return await callHosted(executor, { ...call, ...value }, options);
}

function wrongArguments(tool: string, problem: string): FaceAnswer {
  const error = toolCallError('invalid_arguments', `${tool}: ${problem}`, { mayHaveRun: false });
  return { result: failedResultOf(error, undefined) };
}

const maxServersNamed = 40;

/** Returns the instructions for a model about the two tools and the tools that they find. */
function searchInstructions(tools: readonly Tool[]): string[] {
  return [
    `Your list does not show all tools that you may use (${tools.length} more now): find them with ${searchToolName} by what they do, and call them with ${callToolName}.`,
    ...serverSentence(tools),
  ];
}

function serverSentence(tools: readonly Tool[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of tools) {
    const server = /^mcp_(.+?)__/.exec(name)?.[1];
    if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  const named = [...counts].slice(0, maxServersNamed).map(([server, count]) => `${server} (${count})`);
  const more = counts.size > maxServersNamed ? ` and ${counts.size - maxServersNamed} more` : '';
  return [`They come from these servers: ${named.join(', ')}${more}.`];
}
