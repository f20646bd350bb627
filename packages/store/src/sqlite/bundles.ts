import type { Database, Statement } from 'better-sqlite3';
import type { StoredMessage } from '../inbox-store.ts';
import { CommitRecord } from './commit-record.ts';
import { hashOf } from './id-filter.ts';
import { IdRanges } from './id-ranges.ts';
import { namesAfter } from './message-table.ts';
import type { RecentMessage } from './recent-message.ts';
import { type RecordText, readRecord } from './record-entry.ts';
import { SettledBlock } from './settled-block.ts';

/** Messages in one bundle, and bytes of their bodies, about: to settle one takes it apart. */
const mostMessages = 128;
const mostBytes = 128 * 1024;
/** Looked through for what is expired, in one step. */
const bundlesPerStep = 16;

interface Bundle extends RecordText {
  number: number;
}

interface Span {
  number: number;
  first: number;
  last: number;
}

/**
 * Unsettled messages that aged together in one inbox, many in a row: a row for each, with its entries in three indexes, cost
 * more than all else that happens to a message which nobody reads. Bundles of an inbox never overlap. Transactions are
 * the caller's.
 */
export class Bundles {
  #blocks: SettledBlock[] = [];
  /** What any of them may hold: it rules most new messages out at once. */
  #ids = new IdRanges();
  /** The one that was read last: it is mostly read on. */
  #read: { number: number; messages: readonly StoredMessage[] } | undefined;
  /** The expired ones up to it were looked through. */
  #swept = 0;
  readonly #text = new CommitRecord();
  readonly #insert: Statement<(string | number | Buffer)[]>;
  readonly #delete: Statement<[number: number]>;
  readonly #all: Statement<[], { number: number; ids: string }>;
  readonly #hashes: Statement<[number: number], Buffer>;
  readonly #spanBehind: Statement<[inbox: string, seq: number], Span>;
  readonly #get: Statement<[number: number], Bundle>;
  readonly #next: Statement<[number: number, limit: number], Bundle>;
  readonly #expired: Statement<[now: number, number: number, limit: number], Bundle>;
  readonly #head: Statement<[inbox: string], number | null>;
  readonly #nextInbox: Statement<[after: string], string | null>;

  constructor(db: Database) {
    this.#insert = db.prepare(
      `INSERT INTO bundle (inbox, first, last, expires_at, ids, hashes, entries, bodies) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = db.prepare('DELETE FROM bundle WHERE number = ?');
    this.#all = db.prepare('SELECT number, ids FROM bundle ORDER BY number');
    this.#hashes = db.prepare<[number], Buffer>('SELECT hashes FROM bundle WHERE number = ?').pluck();
    this.#spanBehind = db.prepare(
      'SELECT number, first, last FROM bundle WHERE inbox = ? AND last > ? ORDER BY last LIMIT 1',
    );
    const content = 'SELECT number, entries, bodies FROM bundle';
    this.#get = db.prepare(`${content} WHERE number = ?`);
    this.#next = db.prepare(`${content} WHERE number > ? ORDER BY number LIMIT ?`);
    const expired = 'FROM bundle INDEXED BY bundle_by_expiry WHERE expires_at <= ? AND number > ?';
    this.#expired = db.prepare(
      `${content} WHERE number IN (SELECT number ${expired} ORDER BY number LIMIT ?) ORDER BY number`,
    );
    this.#head = db.prepare<[string], number | null>('SELECT max(last) FROM bundle WHERE inbox = ?').pluck();
    this.#nextInbox = db
      .prepare<[string], string | null>('SELECT min(inbox) FROM bundle WHERE inbox > ?')
      .pluck();
    this.reload();
  }

  /** At the start, and after a rollback. */
  reload(): void {
    this.#blocks = [];
    this.#ids = new IdRanges();
    this.#read = undefined;
    for (const { number, ids } of this.#all.all()) this.#include(number, IdRanges.parse(ids));
  }

  /** Takes unsettled messages of one inbox, in order; false if others lie between them. Neither attempts nor tokens are kept. */
  add(messages: readonly RecentMessage[]): boolean {
    const [{ inbox, seq }, last] = [messages[0]!, messages.at(-1)!];
    if ((this.#spanBehind.get(inbox, seq)?.first ?? last.seq) < last.seq) return false;
    let bytes = 0;
    let from = 0;
    for (const [at, { size }] of messages.entries()) {
      bytes += size;
      if (bytes < mostBytes && at + 1 - from < mostMessages && at + 1 < messages.length) continue;
      this.#addOne(messages.slice(from, at + 1));
      from = at + 1;
      bytes = 0;
    }
    return true;
  }

  /** The bundle that holds a message, taken out. */
  take(inbox: string, seq: number): readonly StoredMessage[] {
    const number = this.#numberOf(inbox, seq);
    const messages = number === undefined ? [] : this.#messagesOf(number);
    if (number === undefined || !messages.some((one) => one.seq === seq)) return [];
    this.#delete.run(number);
    this.#read = undefined;
    for (const { pages } of this.#blocks) {
      const at = pages.findIndex((page) => page.number === number);
      if (at >= 0) pages.splice(at, 1);
    }
    this.#blocks = this.#blocks.filter(({ pages }) => pages.length > 0);
    return messages;
  }

  get(inbox: string, seq: number): StoredMessage | undefined {
    const number = this.#numberOf(inbox, seq);
    return number === undefined ? undefined : this.#messagesOf(number).find((one) => one.seq === seq);
  }

  find(id: string, inbox: string, sender: string): StoredMessage | undefined {
    if (!this.#ids.mayHold(id)) return undefined;
    const hash = hashOf(id);
    for (const block of this.#blocks) {
      for (const { number } of block.candidates(id, hash)) {
        const found = this.#messagesOf(number).find(
          (one) => one.id === id && one.inbox === inbox && one.sender === sender,
        );
        if (found) return found;
      }
    }
    return undefined;
  }

  *after(inbox: string, afterSeq: number): Iterable<StoredMessage> {
    let span = this.#spanBehind.get(inbox, afterSeq);
    for (; span; span = this.#spanBehind.get(inbox, span.last)) {
      for (const one of this.#messagesOf(span.number)) if (one.seq > afterSeq) yield one;
    }
  }

  headSeq(inbox: string): number {
    return this.#head.get(inbox) ?? 0;
  }

  inboxes(after: string, limit: number): string[] {
    return namesAfter(after, limit, this.#nextInbox);
  }

  /** Some of what is expired; again and again gives all. */
  expired(now: number): StoredMessage[] {
    const rows = this.#expired.all(now, this.#swept, bundlesPerStep);
    this.#swept = rows.length < bundlesPerStep ? 0 : rows.at(-1)!.number;
    return rows.flatMap(decode).filter(({ expiresAt }) => expiresAt <= now);
  }

  /** The first bundles after the one with this number, whatever their inbox: some thousand messages. */
  next(number: number): { number: number; messages: StoredMessage[] }[] {
    return this.#next
      .all(number, bundlesPerStep)
      .map((row) => ({ number: row.number, messages: decode(row) }));
  }

  #addOne(messages: readonly RecentMessage[]): void {
    const ids = new IdRanges();
    let expiresAt = Number.POSITIVE_INFINITY;
    for (const recent of messages) {
      ids.add(recent.id);
      expiresAt = Math.min(expiresAt, recent.expiresAt);
      this.#text.added(recent);
    }
    const { entries, bodies } = this.#text.take();
    const [{ seq: first, inbox }, { seq: last }] = [messages[0]!, messages.at(-1)!];
    const hashes = Buffer.from(Uint32Array.from(messages, ({ id }) => hashOf(id)).buffer);
    const { lastInsertRowid } = this.#insert.run(
      inbox,
      first,
      last,
      expiresAt,
      ids.toString(),
      hashes,
      entries,
      bodies,
    );
    this.#include(Number(lastInsertRowid), ids);
  }

  #numberOf(inbox: string, seq: number): number | undefined {
    const span = this.#spanBehind.get(inbox, seq - 1);
    return span && span.first <= seq ? span.number : undefined;
  }

  #messagesOf(number: number): readonly StoredMessage[] {
    if (this.#read?.number === number) return this.#read.messages;
    const row = this.#get.get(number);
    if (!row) return [];
    this.#read = { number, messages: decode(row) };
    return this.#read.messages;
  }

  #include(number: number, ids: IdRanges): void {
    let block = this.#blocks.at(-1);
    if (!block || block.isFull) {
      block = new SettledBlock((of) => this.#hashesOf(of));
      this.#blocks.push(block);
    }
    block.add({ number, until: 0, bytes: 0, ids });
    this.#ids.include(ids);
  }

  #hashesOf(number: number): Uint32Array {
    const bytes = this.#hashes.get(number);
    return bytes === undefined ? new Uint32Array() : new Uint32Array(new Uint8Array(bytes).buffer);
  }
}

function decode(row: Bundle): StoredMessage[] {
  const messages: StoredMessage[] = [];
  const never = () => {};
  readRecord(row, {
    added: (seq, { tokenId: _, ...message }, size) => messages.push({ ...message, seq, size, attempts: 0 }),
    ended: never,
    tried: never,
  });
  return messages;
}
