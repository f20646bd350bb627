import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { LoggedMessage } from '../../logged-message.ts';
import type { ContentEntry, ContentKind, ContentPart } from '../../store-content.ts';
import { auditContent } from '../audit-log/audit-tables.ts';
import { toStoreError } from '../database.ts';
import { messageContent } from '../inbox-store/message-content.ts';
import { tokenContent } from '../token-store.ts';

/** The databases of a broker. */
export interface SqliteFiles {
  messages: string;
  tokens: string;
  audit: string;
}

/** The most items of one part. Its bodies also have about this many bytes at most. */
const itemsPerPart = 500;
const bytesPerPart = 4 * 1024 * 1024;

/**
 * Reads everything in the databases of a broker that does not run, in parts that fit into memory. Changes nothing. The databases must be
 * undamaged; a missing one counts as empty. Throws a `StoreError`.
 */
export function* sqliteContent({ messages, tokens, audit }: SqliteFiles): Iterable<ContentPart> {
  yield* reading(messages, (db) => messageContent(db, messages));
  yield* reading(tokens, tokenContent);
  yield* reading(audit, auditContent);
}

function* reading(
  file: string,
  read: (db: Database.Database) => Iterable<ContentEntry>,
): Iterable<ContentPart> {
  if (!existsSync(file)) return;
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    yield* inParts(read(db));
  } catch (thrown) {
    throw toStoreError(thrown, file);
  } finally {
    db?.close();
  }
}

function* inParts(entries: Iterable<ContentEntry>): Iterable<ContentPart> {
  let kind: ContentKind | undefined;
  let items: ContentEntry[1][] = [];
  let bytes = 0;
  const part = (): ContentPart => ({ kind, items }) as ContentPart;
  for (const [next, item] of entries) {
    if (items.length > 0 && (next !== kind || items.length >= itemsPerPart || bytes >= bytesPerPart)) {
      yield part();
      items = [];
      bytes = 0;
    }
    kind = next;
    items.push(item);
    bytes += bodyBytes(item);
  }
  if (items.length > 0) yield part();
}

function bodyBytes(item: ContentEntry[1]): number {
  if ('message' in item) return item.message.size;
  return 'body' in item && item.body !== undefined ? (item as LoggedMessage).size : 0;
}
