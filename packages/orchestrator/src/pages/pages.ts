import { createHash } from 'node:crypto';
import { bodyLimits, jsonSize } from '@signalbox/protocol';

/** The most bytes of the items of one page, written as JSON. */
const pageBytes = 1024 * 1024;
const { maxDepth, maxNodes } = bodyLimits;
/** The most values and names in the items of one page: the bound of readers, without the other fields of a reply. */
const pageNodes = maxNodes - 1000;
/** The bytes that are reserved for the other fields of a reply. */
const otherFieldsBytes = 4096;

/** The place at which a list continues: the number of the page, and the tag of the list. */
interface PagePlace {
  tag: string;
  page: number;
}

/**
 * Splits a list into pages of at most `pageBytes`, or less if a reply may hold only `maxReplyBytes`, and of no more nodes than readers
 * accept. A larger item has a page of its own. There is always a page, even if it is empty.
 */
export function splitPages<Item>(items: readonly Item[], maxReplyBytes: number): Item[][] {
  const room = Math.min(pageBytes, maxReplyBytes) - otherFieldsBytes;
  let page: Item[] = [];
  const pages = [page];
  let bytes = 0;
  let nodes = 0;
  for (const item of items) {
    const json = JSON.stringify(item);
    // This adds one byte for the comma.
    const itemBytes = Buffer.byteLength(json) + 1;
    const itemNodes = jsonSize(json, { maxDepth, maxNodes }).nodes;
    if (page.length > 0 && (bytes + itemBytes > room || nodes + itemNodes > pageNodes)) {
      page = [];
      pages.push(page);
      bytes = 0;
      nodes = 0;
    }
    page.push(item);
    bytes += itemBytes;
    nodes += itemNodes;
  }
  return pages;
}

/** Makes the tag of a list from everything that identifies it. */
export function pageTag(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}

/** Writes a place as a cursor. */
export function writeCursor({ tag, page }: PagePlace): string {
  return `${page}.${tag}`;
}

/** Reads a cursor; `undefined` if {@link writeCursor} did not write it. */
export function readCursor(cursor: string): PagePlace | undefined {
  const parts = /^([1-9]\d{0,6})\.([\w-]{22})$/.exec(cursor);
  return parts ? { page: Number(parts[1]), tag: parts[2]! } : undefined;
}
