import { SignalboxError, type Tool, toolSchema } from '@signalbox/protocol';
import type { ToolProblem } from '@signalbox/tool-calls';

/** The tools of a server as it describes them, and the problems of those that were left out. */
export interface ToolList {
  tools: Tool[];
  problems: ToolProblem[];
}

/** One page of a tool list as the server sent it. */
export interface ToolPage {
  tools: unknown;
  nextCursor?: unknown;
}

const maxPages = 1_000;
const maxTools = 20_000;

/**
 * Reads a paginated tool list to its end. Invalid tools are left out and reported; a list that never ends is cut and
 * reported. Throws `SignalboxError` `bad_tool_list` if a page holds no array of tools, and the errors of `readPage`.
 */
export async function readToolList(
  readPage: (cursor: string | undefined) => Promise<ToolPage>,
): Promise<ToolList> {
  const entries: unknown[] = [];
  const problems: ToolProblem[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await readPage(cursor);
    if (!Array.isArray(page.tools))
      throw new SignalboxError('bad_tool_list', 'the tool list is not an array');
    for (const entry of page.tools) entries.push(entry);
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined;
    if (cursor === undefined) break;
    if (seen.has(cursor) || pages === maxPages || entries.length > maxTools) {
      const why = seen.has(cursor)
        ? 'repeats a cursor'
        : `does not end within ${maxPages} pages or ${maxTools} tools`;
      problems.push({ message: `the tool list ${why}; what was read so far is offered` });
      break;
    }
    seen.add(cursor);
  }
  return checked(entries, problems);
}

/**
 * Takes secrets out of the names and texts in the problems of a list. Names are cut to 128 characters after that,
 * because a secret that was cut would not be recognised.
 */
export function redactedList({ tools, problems }: ToolList, redact: (text: string) => string): ToolList {
  return {
    tools,
    problems: problems.map(({ tool, message }) => ({
      ...(tool !== undefined && { tool: redact(tool).slice(0, 128) }),
      message: redact(message),
    })),
  };
}

function checked(entries: readonly unknown[], problems: ToolProblem[]): ToolList {
  const tools = new Map<string, Tool>();
  for (const entry of entries) {
    const read = readTool(entry);
    if ('problem' in read) problems.push(read.problem);
    else if (!tools.has(read.tool.name)) tools.set(read.tool.name, read.tool);
    else if (JSON.stringify(tools.get(read.tool.name)) !== JSON.stringify(entry)) {
      problems.push({
        tool: read.tool.name,
        message: 'the server lists this name twice; the first is offered',
      });
    }
  }
  return { tools: [...tools.values()], problems };
}

function readTool(entry: unknown): { tool: Tool } | { problem: ToolProblem } {
  const parsed = toolSchema.safeParse(entry);
  // The entry itself, not the parsed copy: its fields stay as they are, in their order.
  if (parsed.success) return { tool: entry as Tool };
  const issue = parsed.error.issues[0]!;
  const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined;
  return {
    problem: {
      ...(typeof name === 'string' && { tool: name }),
      message: `left out, not a valid tool: ${issue.path.join('.') || 'tool'}: ${issue.message}`,
    },
  };
}
