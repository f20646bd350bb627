import type { CancelSignal } from '@signalbox/client';
import { searchReplySchema, type Tool, toolCallError } from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';
import type { FaceAnswer, FaceCall, FaceTools } from '../tools/face-tools.ts';
import { callHosted, type HostedToolsOptions, hostedTools } from '../tools/hosted-tools.ts';
import { failedResultOf, type ToolResult } from '../tools/tool-result.ts';
import { defaultHits, maxHits, readCallArguments, readSearchArguments } from './search-arguments.ts';

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

/** The longest query that the orchestrator accepts; a longer one is cut. */
const maxQueryLength = 256;

/** One search for tools. */
interface SearchRequest {
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
async function requestSearch(
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

/** Makes the result of a search: text for a model, and the same as data. */
function foundToolsResult(query: string, tools: readonly Tool[], toolCount: number): ToolResult {
  const found = tools.map(({ name, title, description, inputSchema }) => ({
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    inputSchema,
  }));
  const text = found.length === 0 ? nothingFound(query, toolCount) : foundText(found);
  return { content: [{ type: 'text', text }], structuredContent: { tools: found } };
}

function foundText(found: readonly Tool[]): string {
  const items = found.map(({ name, title, description, inputSchema }) =>
    [
      title === undefined ? `## ${name}` : `## ${name} (${title})`,
      ...(description === undefined ? [] : [description]),
      `inputSchema: ${JSON.stringify(inputSchema)}`,
    ].join('\n'),
  );
  return [...items, `Run one with ${callToolName} {"name": …, "arguments": …}.`].join('\n\n');
}

function nothingFound(query: string, toolCount: number): string {
  if (toolCount === 0) return 'You may use no tools at present, so there is nothing to find.';
  return `None of your ${toolCount} tools fits ${JSON.stringify(query)}. Try other words for the same thing, or fewer.`;
}

/** The name of the tool that finds tools. */
const searchToolName = 'search_tools';
/** The name of the tool that calls a found tool. */
const callToolName = 'call_tool';

/** The two tools that stand for all others. They never change, so that a model's cached prompt stays good. */
const searchDefinitions: readonly Tool[] = [
  {
    name: searchToolName,
    title: 'Find a tool',
    description:
      'Finds tools by what they do. Most of the tools you may use are not in your list: search here before you ' +
      'conclude that something cannot be done. Describe one action in plain words, with the thing it acts on and ' +
      'the service if you know it ("close a pull request", "restart a container"); search once for each action. ' +
      `Returns the best ${defaultHits} with their names, descriptions and input schemas, best first; run one with ` +
      `${callToolName}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What the tool should do, in a few words.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: maxHits,
          default: defaultHits,
          description: 'How many tools to return at most.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: callToolName,
    title: 'Call a found tool',
    description:
      `Calls a tool that ${searchToolName} found and returns its own result. Give its exact name and the ` +
      'arguments that its input schema asks for.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `The tool's name, exactly as ${searchToolName} gave it.` },
        arguments: { type: 'object', description: 'The arguments of that tool, by its own input schema.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
];
