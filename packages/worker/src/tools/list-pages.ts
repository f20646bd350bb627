import type { Tool } from '@signalbox/protocol';
import { invalidParams, JsonRpcError } from './json-rpc-error.ts';

/** The bounds of one page. They are wide, because several clients read only the first page. */
const maxEntries = 1000;
const maxBytes = 4 * 1024 * 1024;

/** One page of a list of tools, in MCP's form. */
export interface ToolPage {
  tools: Tool[];
  nextCursor?: string;
}

/** A list that clients read in pages: the word for its entries, and the text that identifies an entry. */
export interface PagedList<Entry> {
  what: string;
  entries: readonly Entry[];
  keyOf: (entry: Entry) => string;
}

/** Returns a page of the list of tools; see {@link listPage}. */
export function toolPage(tools: readonly Tool[], cursor: string | undefined): ToolPage {
  const { page, ...rest } = listPage({ what: 'tools', entries: tools, keyOf: ({ name }) => name }, cursor);
  return { tools: page, ...rest };
}

/**
 * Returns the first page of a list, or the one that a cursor leads to. The whole list is one page up to 1,000 entries and 4 MiB. A cursor
 * names the last entry of the page before. Throws `JsonRpcError` if the list no longer has that entry.
 */
export function listPage<Entry>(
  list: PagedList<Entry>,
  cursor: string | undefined,
): { page: Entry[]; nextCursor?: string } {
  const { entries, keyOf } = list;
  const from = cursor === undefined ? 0 : placeAfter(list, cursor);
  let bytes = 0;
  let to = from;
  for (; to < entries.length && to - from < maxEntries; to++) {
    bytes += Buffer.byteLength(JSON.stringify(entries[to]));
    if (bytes > maxBytes && to > from) break;
  }
  const page = entries.slice(from, to);
  return { page, ...(to < entries.length && { nextCursor: cursorAfter(keyOf(page.at(-1)!)) }) };
}

function cursorAfter(key: string): string {
  return Buffer.from(key).toString('base64url');
}

function placeAfter<Entry>({ what, entries, keyOf }: PagedList<Entry>, cursor: string): number {
  const key = Buffer.from(cursor, 'base64url').toString();
  const at = entries.findIndex((entry) => keyOf(entry) === key);
  if (at >= 0) return at + 1;
  throw new JsonRpcError(
    invalidParams,
    `cursor: the list of ${what} has changed; list the ${what} from the start`,
  );
}
