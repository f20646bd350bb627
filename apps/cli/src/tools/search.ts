import { SignalboxError } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools search`. */
export interface ToolsSearchFlags extends ToolsFlags {
  limit: number;
}

const maxQueryLength = 256;
const maxResults = 50;

/** Prints the tools, prompts and resources of the caller's role that fit best to some words. Nothing found is no failure. */
export async function searchTools(query: string, flags: ToolsSearchFlags): Promise<void> {
  const words = query.trim();
  if (words === '' || words.length > maxQueryLength) {
    throw new SignalboxError(
      'usage',
      `the words to search for are none, or longer than ${maxQueryLength} characters`,
    );
  }
  const request = { op: 'search' as const, query: words, limit: Math.min(flags.limit, maxResults) };
  const { tools, prompts = [], resources = [] } = await askOrchestrator(flags, request);
  if (flags.json) return printJson({ tools, prompts, resources });
  const lists = [
    {
      what: 'tool',
      column: 'TOOL',
      rows: tools.map((tool) => [toolLabel({ tool: tool.name }), textOf(tool)]),
    },
    { what: 'prompt', column: 'PROMPT', rows: prompts.map((prompt) => [prompt.name, textOf(prompt)]) },
    {
      what: 'resource',
      column: 'URI',
      rows: resources.map((one) => [one.uri ?? one.uri_template ?? '', textOf({ title: one.name, ...one })]),
    },
  ].filter(({ rows }) => rows.length > 0);
  if (lists.length === 0) {
    return printLines(
      'no tool, prompt or resource of your role fits; signalbox tools list, prompts list and resources list show them all',
    );
  }
  for (const { what, column, rows } of lists)
    printLines(tableLines([column, 'ITS SERVER SAYS'], rows), '', `${count(rows.length, what)}, best first.`);
}

function textOf({
  title,
  description,
}: {
  title?: string | undefined;
  description?: string | undefined;
}): string {
  return oneLine(description ?? title ?? '', 90);
}
