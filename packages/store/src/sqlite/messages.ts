import type { Database } from 'better-sqlite3';
import type { FoundMessage, NewMessage, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import { adoptSlices } from './adopt-slices.ts';
import { CommitRecord, readRecord } from './commit-record.ts';
import type { PartOfCount } from './inbox-counts.ts';
import { MessageTable } from './message-table.ts';
import { metadataOf, type RecentMessage, RecentMessages, settledOf, storedOf } from './recent-messages.ts';
import { RecordTable } from './record-table.ts';
import type { Ending } from './settled-message.ts';
import { type RetentionLimits, SettledPages } from './settled-pages.ts';

/** So much may be recent: messages, and bytes of bodies in their records. What is beyond goes to the tables, oldest first. */
export interface RecentLimits {
  recentMessages: number;
  recentBytes: number;
}

/** Recent messages that go to the tables at a time, about. */
const agedAtOnce = 400;
/** What is older than this goes to the tables, too, when something has been recent for twice as long. */
const recentMs = 5 * 60 * 1000;

/**
 * All messages, wherever they are. Most are settled soon after they came, so a message first lives in memory and in the
 * record of its commit, one row for all that came together. What ages goes to the tables: `message`, or the pages of
 * settled ones. An unsettled message in `message` is older than all recent ones. Transactions are the caller's.
 */
export class Messages {
  readonly pages: SettledPages;
  readonly #table: MessageTable;
  readonly #limits: RecentLimits;
  readonly #records: RecordTable;
  readonly #recent = new RecentMessages();
  readonly #record = new CommitRecord();
  /** Inboxes that are not read, or slowly, and their rows: what comes goes to the table at once, behind the others. */
  readonly #piles = new Map<string, number>();
  /** Of the record of the commit that is under way. */
  #number = 1;

  constructor(db: Database, limits: RetentionLimits & RecentLimits, now: number) {
    this.#limits = limits;
    this.#table = new MessageTable(db);
    this.pages = new SettledPages(db, limits);
    adoptSlices(db, this.pages);
    this.#records = new RecordTable(db);
    this.#replay(now);
  }

  /** What storing it would be, if it or another one of its id has been here. */
  repeatOf(message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    const { id, inbox, sender } = message;
    const waiting = this.#waiting(id, inbox, sender);
    if (waiting) return isSame(waiting, message) ? 'duplicate' : 'id_conflict';
    const isSettled = this.#recent.find(id, inbox, sender) ?? this.pages.find(id, inbox, sender);
    return isSettled && 'duplicate';
  }

  /** One of this id is here and not settled. */
  isWaiting(id: string, inbox: string, sender: string): boolean {
    return this.#waiting(id, inbox, sender) !== undefined;
  }

  add(seq: number, message: NewMessage, size: number, now: number): void {
    const { inbox, unread } = message;
    const isLong = unread || this.#recent.unsettledCount(inbox) >= this.#limits.recentMessages / 2;
    if (isLong && !this.#piles.has(inbox)) this.#pile(inbox);
    const pile = this.#piles.get(inbox);
    if (pile === undefined) this.#addRecent(seq, message, size, now);
    else {
      this.#table.insert(seq, message, size, 0);
      this.#piles.set(inbox, pile + 1);
    }
  }

  /** Whose it was, and its size; undefined if it isn't there, is settled, or is in another inbox. */
  settle(inbox: string, seq: number, ending: Ending): { sender: string; size: number } | undefined {
    const recent = this.#recent.unsettled(inbox, seq) ?? this.#taken(inbox, seq, ending.at);
    if (!recent) return undefined;
    this.#recent.settle(recent, ending);
    this.#record.ended(recent, ending);
    return { sender: recent.message.sender, size: recent.size };
  }

  setAttempts(inbox: string, seq: number, attempts: number): void {
    const recent = this.#recent.unsettled(inbox, seq);
    if (!recent) {
      this.#table.setAttempts(inbox, seq, attempts);
      return;
    }
    recent.attempts = attempts;
    this.#record.tried(recent);
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    const recent = this.#recent.find(id, inbox, sender);
    if (!recent || recent.ending) {
      const waiting = this.#table.find(id, inbox, sender);
      if (waiting) return waiting;
      if (!recent) return this.pages.find(id, inbox, sender);
    }
    const { seq, message, ending } = recent;
    const { kind, senderAddress } = message;
    return { seq, kind, senderAddress, ...(ending && { outcome: ending.outcome }) };
  }

  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): StoredMessage[] {
    const messages: StoredMessage[] = [];
    let bytes = 0;
    for (const message of this.#after(inbox, afterSeq, Math.max(limit, 0))) {
      bytes += message.size;
      if (messages.length >= limit || (messages.length > 0 && bytes > maxBytes)) break;
      messages.push(message);
    }
    return messages;
  }

  headSeq(inbox: string): number {
    let head = this.#table.headSeq(inbox);
    for (const { seq } of this.#recent.unsettledOf(inbox)) head = seq;
    return head;
  }

  /** What is not settled in an inbox. */
  *partsOf(inbox: string): Iterable<PartOfCount> {
    yield* this.#table.counts.of(inbox);
    for (const { message, size } of this.#recent.unsettledOf(inbox)) {
      yield { sender: message.sender, pending: 1, bytes: size };
    }
  }

  sentWith(tokenId: string, limit: number): StoredMetadata[] {
    const recent = this.#recent.unsettledWhere(({ message }) => message.tokenId === tokenId);
    return [...this.#table.sentWith(tokenId, limit), ...recent.map(metadataOf)].slice(0, Math.max(limit, 0));
  }

  tried(inbox: string, seqs: readonly number[], limit: number): StoredMetadata[] {
    const asked = new Set(seqs);
    const recent = [...this.#recent.unsettledOf(inbox)].filter(
      ({ seq, attempts }) => attempts > 0 || asked.has(seq),
    );
    return [...this.#table.tried(inbox, seqs, limit), ...recent.map(metadataOf)].slice(0, Math.max(limit, 0));
  }

  inboxes(after: string, limit: number): string[] {
    const recent = this.#recent.inboxes().filter((name) => name > after);
    return [...new Set([...this.#table.inboxes(after, limit), ...recent])].sort().slice(0, limit);
  }

  /** As `MessageTable.scanExpired`, and all recent ones that are expired. */
  scanExpired(afterSeq: number, rows: number, now: number): { expired: StoredMetadata[]; lastSeq: number } {
    const { expired, lastSeq } = this.#table.scanExpired(afterSeq, rows, now);
    const recent = this.#recent.unsettledWhere(({ message }) => message.expiresAt <= now);
    return { expired: [...expired, ...recent.map(metadataOf)], lastSeq };
  }

  recent(): IterableIterator<RecentMessage> {
    return this.#recent.all();
  }

  /** Writes what this transaction did to recent messages. Its last step. */
  save(): void {
    const { recentMessages, recentBytes } = this.#limits;
    while (this.#recent.size > recentMessages || this.#recent.recorded > recentBytes) this.#age(agedAtOnce);
    this.#table.counts.save();
    if (this.#record.isEmpty) return;
    this.#records.insert(this.#number, this.#record.take());
    this.#number++;
  }

  /** Where something has been recent for long, in a transaction of its own. */
  ageOld(now: number): void {
    const [oldest] = this.#recent.all();
    if (!oldest || now - oldest.since < 2 * recentMs) return;
    let count = 0;
    for (const { since } of this.#recent.all()) if (now - since >= recentMs) count++;
    this.#age(count);
    this.save();
  }

  /** All settled ones, whose place on the disk may be wanted. */
  ageAll(): void {
    this.#age(Number.POSITIVE_INFINITY);
  }

  /** After a rollback, which has made what is in memory doubtful. */
  reload(now: number): void {
    this.pages.reload();
    this.#replay(now);
  }

  /** A dead letter that came back waits, and its first life is remembered as settled. */
  #waiting(id: string, inbox: string, sender: string): Content | undefined {
    const recent = this.#recent.find(id, inbox, sender);
    return recent && !recent.ending ? recent.message : this.#table.contentOf(id, inbox, sender);
  }

  *#after(inbox: string, afterSeq: number, limit: number): Iterable<StoredMessage> {
    yield* this.#table.after(inbox, afterSeq, limit);
    for (const recent of this.#recent.unsettledOf(inbox)) if (recent.seq > afterSeq) yield storedOf(recent);
  }

  /** One from the table comes back to be settled: it leaves for its page together with others. */
  #taken(inbox: string, seq: number, now: number): RecentMessage | undefined {
    const taken = this.#table.take(inbox, seq);
    if (!taken) return undefined;
    const { size, attempts, seq: _, ...message } = taken;
    const pile = this.#piles.get(inbox);
    if (pile === 1) this.#piles.delete(inbox);
    else if (pile !== undefined) this.#piles.set(inbox, pile - 1);
    return this.#addRecent(seq, message, size, now);
  }

  #addRecent(seq: number, message: NewMessage, size: number, now: number): RecentMessage {
    const recorded = message.body === undefined ? 0 : size;
    const recent = { seq, message, size, record: this.#number, recorded, since: now, attempts: 0 };
    this.#recent.add(recent);
    this.#record.added(seq, message, size);
    return recent;
  }

  /** Moves the oldest recent ones to the tables, `atLeast` so many: whole records. */
  #age(atLeast: number): void {
    const aged: RecentMessage[] = [];
    for (const recent of this.#recent.all()) {
      if (aged.length >= atLeast && recent.record !== aged.at(-1)?.record) break;
      aged.push(recent);
    }
    const last = aged.at(-1);
    if (!last) return;
    for (const recent of aged) this.#recent.remove(recent);
    const settled = aged.flatMap(settledOf);
    if (settled.length > 0) this.pages.add(settled);
    const unsettled = aged.filter(({ ending }) => !ending);
    for (const recent of unsettled) this.#toTable(recent);
    if (last.record === this.#number) this.#record.clear();
    this.#records.forget(last.record);
    for (const inbox of new Set(unsettled.map(({ message }) => message.inbox))) this.#pile(inbox);
  }

  /** An inbox that nobody reads, or slowly: what comes to it is in no hurry. */
  #pile(inbox: string): void {
    for (const recent of [...this.#recent.unsettledOf(inbox)]) {
      this.#recent.remove(recent);
      this.#toTable(recent);
      this.#record.moved(recent);
    }
    const rows = this.#table.counts.of(inbox).reduce((sum, { pending }) => sum + pending, 0);
    this.#piles.set(inbox, rows);
  }

  #toTable({ seq, message, size, attempts }: RecentMessage): void {
    this.#table.insert(seq, message, size, attempts);
  }

  #replay(now: number): void {
    this.#recent.clear();
    this.#record.clear();
    this.#piles.clear();
    this.#table.counts.reset();
    for (const { number, ...text } of this.#records.all()) {
      readRecord(text, {
        added: (seq, message, size) => {
          const recorded = message.body === undefined ? 0 : size;
          this.#recent.add({ seq, message, size, record: number, recorded, since: now, attempts: 0 });
        },
        // What is not there has aged since.
        ended: (inbox, seq, ending) => {
          const recent = this.#recent.unsettled(inbox, seq);
          if (recent) this.#recent.settle(recent, ending);
        },
        tried: (inbox, seq, attempts) => {
          const recent = this.#recent.unsettled(inbox, seq);
          if (recent) recent.attempts = attempts;
        },
        moved: (inbox, seq) => {
          const recent = this.#recent.unsettled(inbox, seq);
          if (recent) this.#recent.remove(recent);
        },
      });
      this.#number = number + 1;
    }
  }
}

type Content = Pick<NewMessage, 'kind' | 'correlationId' | 'body'>;

function isSame(a: Content, b: Content): boolean {
  return a.kind === b.kind && a.correlationId === b.correlationId && a.body === b.body;
}
