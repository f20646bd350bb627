import { SignalboxError } from '@signalbox/protocol';
import { askOrchestrator, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools search`. */
export interface ToolsSearchFlags extends ToolsFlags {
  limit: number;
}

const maxQueryLength = 256;
const maxResults = 50;

/** Prints the tools of the caller's role that fit best to some words. Nothing found is no failure. */
export async function searchTools(query: string, flags: ToolsSearchFlags): Promise<void> {
  const words = query.trim();
  if (words === '' || words.length > maxQueryLength) {
    throw new SignalboxError(
      'usage',
      `the words to search for are none, or longer than ${maxQueryLength} characters`,
    );
  }
  const request = { op: 'search' as const, query: words, limit: Math.min(flags.limit, maxResults) };
  const { tools } = await askOrchestrator(flags, request);
  if (flags.json) return printJson({ tools });
  if (tools.length === 0) return printLines('no tool of your role fits; signalbox tools list shows them all');
  const rows = tools.map(({ name, title, description }) => [name, oneLine(description ?? title ?? '', 90)]);
  printLines(tableLines(['TOOL', 'DOES'], rows), '', `${count(tools.length, 'tool')}, best first.`);
}
