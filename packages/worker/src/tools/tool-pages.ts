import type { Tool } from '@signalbox/protocol';
import { invalidParams, JsonRpcError } from './json-rpc-error.ts';

/** The bounds of one page. They are wide, because several clients read only the first page. */
const maxTools = 1000;
const maxBytes = 4 * 1024 * 1024;

/** One page of a list of tools, as MCP has it. */
export interface ToolPage {
  tools: Tool[];
  nextCursor?: string;
}

/**
 * Returns the first page of a list, or the one that a cursor leads to. The whole list is one page up to 1,000 tools and
 * 4 MiB. A cursor names the last tool of the page before. Throws `JsonRpcError` if the list has no such tool any more.
 */
export function toolPage(tools: readonly Tool[], cursor: string | undefined): ToolPage {
  const from = cursor === undefined ? 0 : placeAfter(tools, cursor);
  let bytes = 0;
  let to = from;
  for (; to < tools.length && to - from < maxTools; to++) {
    bytes += Buffer.byteLength(JSON.stringify(tools[to]));
    if (bytes > maxBytes && to > from) break;
  }
  const page = tools.slice(from, to);
  return { tools: page, ...(to < tools.length && { nextCursor: cursorAfter(page.at(-1)!) }) };
}

function cursorAfter({ name }: Tool): string {
  return Buffer.from(name).toString('base64url');
}

function placeAfter(tools: readonly Tool[], cursor: string): number {
  const name = Buffer.from(cursor, 'base64url').toString();
  const at = tools.findIndex((tool) => tool.name === name);
  if (at >= 0) return at + 1;
  throw new JsonRpcError(
    invalidParams,
    'cursor: the list of tools has changed; list the tools from the start',
  );
}
