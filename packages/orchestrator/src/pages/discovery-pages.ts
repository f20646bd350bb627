import { randomUUID } from 'node:crypto';
import type { DiscoveredServer } from '@signalbox/mcp-host';
import type { DiscoveryReply, McpReply } from '@signalbox/protocol';
import { KeptLists } from './kept-lists.ts';
import { badCursor, moved, type PagesDeps } from './manifest-pages.ts';
import { pageTag, readCursor, splitPages, writeCursor } from './pages.ts';

type ServerEntry = DiscoveryReply['servers'][number];

/** The longest description of a tool in a page, in characters. */
const descriptionLength = 500;
/** The most tools of one entry. A server with more has several entries, so that each fits into a page. */
const toolsPerEntry = 100;

/** Returns the lists of the servers page by page. The list of an asker is kept for thirty seconds. */
export class DiscoveryPages {
  readonly #maxReplyBytes: () => number;
  readonly #kept: KeptLists<{ tag: string; pages: ServerEntry[][] }>;

  constructor({ now, maxReplyBytes }: PagesDeps) {
    this.#maxReplyBytes = maxReplyBytes;
    this.#kept = new KeptLists(now);
  }

  /** Answers with the first page of the servers' present lists. */
  first(asker: string, servers: readonly DiscoveredServer[]): McpReply {
    const pages = splitPages(servers.flatMap(entriesOf), this.#maxReplyBytes());
    const kept = { tag: pageTag(randomUUID()), pages };
    if (pages.length > 1) this.#kept.keep(asker, kept);
    return pageOf(kept, 0);
  }

  /** Answers with the page to which a cursor leads. */
  next(asker: string, cursor: string): McpReply {
    const place = readCursor(cursor);
    if (!place) return badCursor();
    const kept = this.#kept.find(asker);
    if (kept?.tag !== place.tag) return moved();
    return place.page < kept.pages.length ? pageOf(kept, place.page) : badCursor();
  }
}

function pageOf({ tag, pages }: { tag: string; pages: ServerEntry[][] }, page: number): McpReply {
  const hasMore = page + 1 < pages.length;
  const data: DiscoveryReply = {
    servers: pages[page]!,
    ...(hasMore && { cursor: writeCursor({ tag, page: page + 1 }) }),
  };
  return { data };
}

function entriesOf({ server, tools, error }: DiscoveredServer): ServerEntry[] {
  const entries: ServerEntry[] = [];
  for (let from = 0; from === 0 || from < tools.length; from += toolsPerEntry) {
    entries.push({
      server,
      tools: tools.slice(from, from + toolsPerEntry).map(({ name, as, description }) => ({
        name: name.slice(0, descriptionLength),
        as,
        ...(description !== undefined && { description: description.slice(0, descriptionLength) }),
      })),
      ...(error !== undefined && { error }),
    });
  }
  return entries;
}
