import {
  isKeptResultUri,
  keptRange,
  keptRangeLimits,
  keptResultUri,
  parseKeptResultUri,
  resultReadTool,
  type Tool,
  toolCallError,
} from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { type Fields, readArguments, type Values } from '../mailbox/arguments.ts';
import { readOnly } from '../mailbox/mailbox-tool.ts';
import type { FaceCall, FaceTools } from '../tools/face-tools.ts';
import { failedResultOf, type ToolResult } from '../tools/tool-result.ts';
import { shownPart } from './shown-part.ts';

const most = Number.MAX_SAFE_INTEGER;
const defaultLines = 1000;

const fields = {
  id: {
    type: 'string',
    description: 'The id or the URI of the result, as its preview says it.',
    maxLength: 256,
  },
  part: {
    type: 'string',
    description:
      'text (default): what the result says. json: the whole MCP result, for what the text leaves out.',
    enum: ['text', 'json'],
  },
  line: { type: 'integer', description: 'The first line; lines count from 1.', minimum: 1, maximum: most },
  lines: {
    type: 'integer',
    description: `How many lines; default ${defaultLines}.`,
    minimum: 1,
    maximum: keptRangeLimits.lines,
  },
  offset: {
    type: 'integer',
    description: 'The byte from which on it is read, or searched.',
    minimum: 0,
    maximum: most,
  },
  bytes: { type: 'integer', description: 'How many bytes.', minimum: 1, maximum: keptRangeLimits.bytes },
  search: {
    type: 'string',
    description: 'Shows the lines that hold this text, letter for letter. It is no pattern.',
    minLength: 1,
    maxLength: keptRangeLimits.search,
  },
  ignore_case: { type: 'boolean', description: 'With search: in capital or small letters.' },
  context: {
    type: 'integer',
    description: 'With search: lines before and after each match; default 2.',
    minimum: 0,
    maximum: keptRangeLimits.context,
  },
  matches: {
    type: 'integer',
    description: 'With search: the most matches; default 20.',
    minimum: 1,
    maximum: keptRangeLimits.matches,
  },
  block: {
    type: 'integer',
    description: 'Shows one content block that is no text, such as an image, by its number in the text.',
    minimum: 0,
    maximum: 9_999_999,
  },
} as const satisfies Fields;

const definition: Tool = {
  name: resultReadTool,
  title: 'Read a large result',
  description:
    'Reads a result of one of your tool calls that was too large to be shown, and of which you were shown a preview: from a line on (line, lines), from a byte on (offset, bytes), or around a text (search, context). Without them it reads from the beginning. It shows as much as fits, and says where the rest begins. Search before you read much.',
  inputSchema: { type: 'object', properties: fields, required: ['id'], additionalProperties: false },
  annotations: { ...readOnly },
};

/** The tool that reads large results, for agents of roles whose results are kept. It can be called as long as one may be kept. */
export function resultTools(
  executor: Pick<McpProxyExecutor, 'ask' | 'keepsResults' | 'onManifestChanged'>,
): FaceTools {
  return {
    list: () => (executor.keepsResults ? [definition] : []),
    call: (call) =>
      call.name === resultReadTool ? read(executor, call).then((result) => ({ result })) : undefined,
    onChanged(listener) {
      let before = executor.keepsResults;
      return executor.onManifestChanged(() => {
        const after = executor.keepsResults;
        const isSame = after === before;
        before = after;
        if (!isSame) listener();
      });
    },
    instructions: () =>
      executor.keepsResults
        ? [
            `Of a result that is too large you are shown a preview with its id; ${resultReadTool} reads and searches it.`,
          ]
        : [],
  };
}

async function read(executor: Pick<McpProxyExecutor, 'ask'>, call: FaceCall): Promise<ToolResult> {
  const { value, problem } = readArguments(fields, ['id'], call.arguments);
  if (problem !== undefined) return refused(problem);
  const asked = uriOf(value);
  if ('problem' in asked) return refused(asked.problem);
  const body = { op: 'request', method: 'resources/read', params: asked } as const;
  const { result, error } = await executor.ask(body, { signal: call.signal });
  return error ? failedResultOf(error, definition) : { content: shownPart(result) };
}

function uriOf({
  id: given,
  part = 'text',
  block,
  ...range
}: Values<typeof fields, 'id'>): { uri: string } | { problem: string } {
  const uri = isKeptResultUri(given) ? given : keptResultUri(given);
  const named = isKeptResultUri(uri)
    ? parseKeptResultUri(uri)
    : { problem: 'id: it must be that of a preview' };
  if ('problem' in named) return named;
  const isWhole = Object.values(range).every((value) => value === undefined);
  // The URI of a block, or of the next part, holds all facts.
  if (isKeptResultUri(given) && isWhole && block === undefined && given !== keptResultUri(named.id))
    return { uri: given };
  if (block !== undefined)
    return isWhole ? { uri: keptResultUri(named.id, block) } : { problem: 'block: it goes with no range' };
  const checked = keptRange(range);
  if ('problem' in checked) return checked;
  const byLine = isWhole || (checked.by === 'lines' && range.lines === undefined);
  const wanted = byLine ? { line: range.line, lines: defaultLines } : range;
  return { uri: keptResultUri(named.id, part === 'json' ? 'json' : 'text', wanted) };
}

function refused(problem: string): ToolResult {
  const error = toolCallError('invalid_arguments', `${resultReadTool}: ${problem}`, { mayHaveRun: false });
  return failedResultOf(error, definition);
}
