import type { Tool } from '@signalbox/protocol';
import type { ServerLimits } from '../config/server-limits.ts';
import type { ChangedDefinitions } from '../definitions/server-definitions.ts';
import type { ToolProblem } from '../tool-calls/index.ts';
import { type EntryKind, readEntryList } from './entry-list.ts';
import { mendedTool } from './mended-tool.ts';
import { type ToolFilter, type ToolSieve, toolSieve } from './tool-filter.ts';

/** The tools of a server in a form that clients accept, and the problems of those that were left out or mended. */
export interface ToolList {
  tools: Tool[];
  /** The definitions as the server sent them, by name, of tools that are shown in another form. */
  sent?: ReadonlyMap<string, object>;
  problems: ToolProblem[];
  /** The hints that a tool's server declares and the host does not honour, by the name of the tool. */
  withheld?: ReadonlyMap<string, readonly string[]>;
  /** The tools of a pinned server that are withheld. They stay in `tools`, so that no other tool gets their names. */
  changed?: ChangedDefinitions;
}

/** One page of a tool list as the server sent it. */
export interface ToolPage {
  tools: unknown;
  nextCursor?: unknown;
}

/** The bounds of one tool list. Tools that the filter leaves out do not count. */
export type ToolListLimits = Pick<ServerLimits, 'toolBytes' | 'tools' | 'toolListBytes'> & ToolFilter;

/** The most names of a filter that are reported. */
const maxUnmatched = 5;

/** Reads a paginated tool list; see {@link readEntryList}. */
export async function readToolList(
  readPage: (cursor: string | undefined) => Promise<ToolPage>,
  limits: ToolListLimits,
): Promise<ToolList> {
  const sieve = toolSieve(limits);
  const { entries, sent, problems } = await readEntryList(toolsWithin(limits), async (cursor) => {
    const { tools, nextCursor } = await readPage(cursor);
    return { entries: Array.isArray(tools) ? tools.filter(passing(sieve)) : tools, nextCursor };
  });
  const unmatched = sieve.unmatched().slice(0, maxUnmatched);
  const unknown = unmatched.map((name) => ({
    message: `includeTools: '${name.slice(0, 128)}' matches no tool of the server`,
  }));
  return { tools: entries, ...(sent.size > 0 && { sent }), problems: [...problems, ...unknown] };
}

/** Entries without a name pass: they are reported as invalid. */
function passing({ passes }: ToolSieve): (entry: unknown) => boolean {
  return (entry) => {
    const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined;
    return typeof name !== 'string' || passes(name);
  };
}

/**
 * Takes secrets out of the names and texts in the problems of a list. Names are cut to 128 characters after that,
 * because a secret that was cut would not be recognised.
 */
export function redactedProblems(
  problems: readonly ToolProblem[],
  redact: (text: string) => string,
): ToolProblem[] {
  return problems.map(({ tool, message, ...rest }) => ({
    ...rest,
    ...(tool !== undefined && { tool: redact(tool).slice(0, 128) }),
    message: redact(message),
  }));
}

function toolsWithin({ tools, toolBytes, toolListBytes }: ToolListLimits): EntryKind<Tool> {
  return {
    word: 'tool',
    keyOf: ({ name }) => name,
    mended: mendedTool,
    nameOf: (entry) => 'name' in entry && entry.name,
    most: { count: tools, limit: 'tools' },
    bytes: { each: toolBytes, all: toolListBytes },
  };
}
