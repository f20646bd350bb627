import type { Database, Statement } from 'better-sqlite3';
import type { FoundMessage } from '../inbox-store.ts';
import { hashOf } from './id-filter.ts';
import { IdRanges } from './id-ranges.ts';
import { type Page, SettledBlock } from './settled-block.ts';
import { decodeSettled, encodeSettled, type Settled } from './settled-message.ts';

export interface RetentionLimits {
  /** Settled messages are remembered at least this long. */
  dedupeWindowMs: number;
  /** After this they are forgotten, page by page. */
  retentionMs: number;
  /** Old pages go sooner when all of them take more than this, but never within the dedupe window. */
  retentionBytes: number;
}

type PageRow = Pick<Page, 'number' | 'until' | 'bytes'> & { ids: string };

/** Most pages dropped in one step of housekeeping. */
const dropsPerStep = 8;

/**
 * Settled messages in pages of a few hundred, one row each, in the order in which they came here: a row for each message
 * would cost as much as the message did. Transactions are the caller's.
 */
export class SettledPages {
  readonly #limits: RetentionLimits;
  #blocks: SettledBlock[] = [];
  /** What any page may hold: it rules most new messages out at once. */
  #ids = new IdRanges();
  readonly #insert: Statement<[until: number, bytes: number, ids: string]>;
  readonly #insertContent: Statement<[number: number, hashes: Buffer, entries: string]>;
  readonly #all: Statement<[], PageRow>;
  readonly #hashes: Statement<[number: number], Buffer>;
  readonly #entries: Statement<[number: number], string>;
  readonly #drop: Statement<[number: number]>;
  readonly #dropContent: Statement<[number: number]>;

  constructor(db: Database, limits: RetentionLimits) {
    this.#limits = limits;
    this.#insert = db.prepare('INSERT INTO settled_page (until, bytes, ids) VALUES (?, ?, ?)');
    this.#insertContent = db.prepare('INSERT INTO settled_content VALUES (?, ?, ?)');
    this.#all = db.prepare('SELECT number, until, bytes, ids FROM settled_page ORDER BY number');
    const contentOf = (column: string) => `SELECT ${column} FROM settled_content WHERE number = ?`;
    this.#hashes = db.prepare<[number], Buffer>(contentOf('hashes')).pluck();
    this.#entries = db.prepare<[number], string>(contentOf('entries')).pluck();
    this.#drop = db.prepare('DELETE FROM settled_page WHERE number = ?');
    this.#dropContent = db.prepare('DELETE FROM settled_content WHERE number = ?');
    this.reload();
  }

  /** At the start, and after a rollback. */
  reload(): void {
    this.#blocks = [];
    this.#ids = new IdRanges();
    for (const { ids, ...page } of this.#all.all()) this.#include({ ...page, ids: IdRanges.parse(ids) });
  }

  add(messages: readonly Settled[]): void {
    const entries = encodeSettled(messages);
    const hashes = Uint32Array.from(messages, ({ id }) => hashOf(id));
    const ids = new IdRanges();
    for (const { id } of messages) ids.add(id);
    const until = messages.reduce((latest, { at }) => Math.max(latest, at), 0);
    const bytes = entries.length + hashes.byteLength;
    const number = Number(this.#insert.run(until, bytes, ids.toString()).lastInsertRowid);
    this.#insertContent.run(number, Buffer.from(hashes.buffer), entries);
    this.#include({ number, until, bytes, ids });
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    if (!this.#ids.mayHold(id)) return undefined;
    const hash = hashOf(id);
    for (const block of this.#blocks.toReversed()) {
      for (const { number } of block.candidates(id, hash)) {
        const found = this.messagesOf(number).findLast(
          (one) => one.id === id && one.inbox === inbox && one.sender === sender,
        );
        if (!found) continue;
        const { seq, kind, senderAddress, outcome } = found;
        return { seq, kind, senderAddress, outcome };
      }
    }
    return undefined;
  }

  /** Number of the first page after `after` that may hold messages created at or after a time; 0 for none. */
  next(after: number, since: number): number {
    return this.#pages().find(({ number, until }) => number > after && until >= since)?.number ?? 0;
  }

  /** None once the page was dropped. */
  messagesOf(page: number): Settled[] {
    const entries = this.#entries.get(page);
    return entries === undefined ? [] : decodeSettled(entries);
  }

  /** Drops some pages that are past their time; false if there is none. */
  drop(now: number): boolean {
    let left = this.#due(this.#pages(), now);
    if (left === 0) return false;
    for (; left > 0; left--) this.#dropOldest();
    this.#ids = new IdRanges();
    for (const { ids } of this.#blocks) this.#ids.include(ids);
    return true;
  }

  #dropOldest(): void {
    const [block] = this.#blocks;
    const page = block?.pages.shift();
    if (block?.pages.length === 0) this.#blocks.shift();
    if (!page) return;
    this.#drop.run(page.number);
    this.#dropContent.run(page.number);
  }

  #due(pages: readonly Page[], now: number): number {
    const { dedupeWindowMs, retentionMs, retentionBytes } = this.#limits;
    let bytes = pages.reduce((sum, page) => sum + page.bytes, 0);
    let count = 0;
    for (const page of pages) {
      const age = now - page.until;
      const isDue = age >= dedupeWindowMs && (age >= retentionMs || bytes > retentionBytes);
      if (!isDue || count === dropsPerStep) break;
      bytes -= page.bytes;
      count++;
    }
    return count;
  }

  #pages(): Page[] {
    return this.#blocks.flatMap(({ pages }) => pages);
  }

  #include(page: Page): void {
    let block = this.#blocks.at(-1);
    if (!block || block.isFull) {
      block = new SettledBlock((number) => this.#hashesOf(number));
      this.#blocks.push(block);
    }
    block.add(page);
    this.#ids.include(page.ids);
  }

  #hashesOf(page: number): Uint32Array {
    const bytes = this.#hashes.get(page);
    return bytes === undefined ? new Uint32Array() : new Uint32Array(new Uint8Array(bytes).buffer);
  }
}
