import type { Database } from 'better-sqlite3';
import type { FoundMessage, NewMessage, Outcome, StoredMessage, StoredMetadata } from '../inbox-store.ts';
import { AgedMessages, merged } from './aged-messages.ts';
import { CommitRecord } from './commit-record.ts';
import type { Inbox } from './inbox.ts';
import { Inboxes } from './inboxes.ts';
import type { Content } from './message-table.ts';
import { isSettled, metadataOf, type Origin, originOf, RecentMessage, storedOf } from './recent-message.ts';
import { RecentMessages } from './recent-messages.ts';
import { readRecord } from './record-entry.ts';
import { RecordTable } from './record-table.ts';
import type { Ending } from './settled-message.ts';
import { type RetentionLimits, SettledPages } from './settled-pages.ts';

/** So much may be recent: messages, and bytes of bodies in their records. What is beyond goes to the tables, oldest first. */
export interface RecentLimits {
  recentMessages: number;
  recentBytes: number;
  /** So many that go at once from one inbox go as bundles. */
  bundledFrom: number;
}

/** Recent messages that go to the tables at a time, about. */
const agedAtOnce = 400;
/** What is older than this goes to the tables, too, when something has been recent for twice as long. */
const recentMs = 5 * 60 * 1000;

/**
 * All messages, wherever they are. Most are settled soon after they came, so a message first lives in memory and in the
 * record of its commit, one row for all that came together. What ages goes to the tables: to the pages of settled ones, and
 * what is not settled to bundles, or to `message` where an inbox has few of them. Transactions are the caller's.
 */
export class Messages {
  readonly pages: SettledPages;
  readonly #aged: AgedMessages;
  readonly #limits: RecentLimits;
  readonly #records: RecordTable;
  readonly #recent = new RecentMessages();
  readonly #record = new CommitRecord();
  readonly #inboxes: Inboxes;
  /** For those that come and end after them, where they are alike. */
  #lastOrigin: Origin | undefined;
  #lastEnding: Ending | undefined;
  /** Of the record of the commit that is under way. */
  #number = 1;

  constructor(db: Database, limits: RetentionLimits & RecentLimits, now: number) {
    this.#limits = limits;
    this.#aged = new AgedMessages(db, limits.bundledFrom);
    this.#inboxes = new Inboxes((inbox) => this.#aged.counts.of(inbox));
    this.pages = new SettledPages(db, limits);
    this.#records = new RecordTable(db);
    this.#replay(now);
  }

  /** What is pending there. */
  inbox(name: string): Inbox {
    return this.#inboxes.of(name);
  }

  /** What storing it would be, if it or another one of its id has been here. */
  repeatOf(inbox: Inbox, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    const { id, sender } = message;
    const recent = inbox.find(id, sender);
    const waiting = isWaiting(recent) ? recent : this.#aged.contentOf(id, inbox.name, sender);
    if (waiting) return isSame(waiting, message) ? 'duplicate' : 'id_conflict';
    return recent || this.pages.find(id, inbox.name, sender) ? 'duplicate' : undefined;
  }

  /** One of this id is here and not settled. */
  isWaiting(inbox: Inbox, id: string, sender: string): boolean {
    return isWaiting(inbox.find(id, sender)) || this.#aged.find(id, inbox.name, sender) !== undefined;
  }

  add(seq: number, inbox: Inbox, message: NewMessage, size: number, now: number): void {
    this.#addRecent(seq, inbox, message, size, now);
    inbox.count(message.sender, size);
  }

  /** False if it isn't there, is settled, or is in another inbox. */
  settle(inbox: string, seq: number, at: number, outcome: Outcome, reason: string | null): boolean {
    const recent =
      this.#unsettled(inbox, seq) ?? this.#taken(inbox, seq, at) ?? this.#unbundled(inbox, seq, at);
    if (!recent) return false;
    let ending = this.#lastEnding;
    if (ending?.at !== at || ending.outcome !== outcome || ending.reason !== reason) {
      ending = { at, outcome, reason };
      this.#lastEnding = ending;
    }
    this.#recent.settle(recent, ending);
    this.#record.ended(recent, ending);
    return true;
  }

  setAttempts(inbox: string, seq: number, attempts: number, now: number): void {
    const recent = this.#unsettled(inbox, seq) ?? this.#unbundled(inbox, seq, now);
    if (!recent) {
      this.#aged.setAttempts(inbox, seq, attempts);
      return;
    }
    recent.attempts = attempts;
    this.#record.tried(recent);
  }

  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    const recent = this.#inboxes.known(inbox)?.find(id, sender);
    // A dead letter that came back waits, and its first life is remembered as settled.
    const waiting = isWaiting(recent) ? foundOf(recent) : this.#aged.find(id, inbox, sender);
    return waiting ?? (recent ? foundOf(recent) : this.pages.find(id, inbox, sender));
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
    let head = this.#aged.headSeq(inbox);
    for (const { seq } of this.#unsettledOf(inbox)) head = Math.max(head, seq);
    return head;
  }

  sentWith(tokenId: string, limit: number): StoredMetadata[] {
    const recent = this.#recent.unsettledWhere((one) => one.tokenId === tokenId);
    return firstOf([...this.#aged.sentWith(tokenId, limit), ...recent.map(metadataOf)], limit);
  }

  tried(inbox: string, seqs: readonly number[], limit: number): StoredMetadata[] {
    const asked = new Set(seqs);
    const recent = [...this.#unsettledOf(inbox)].filter(
      ({ seq, attempts }) => attempts > 0 || asked.has(seq),
    );
    return firstOf([...this.#aged.tried(inbox, seqs, limit), ...recent.map(metadataOf)], limit);
  }

  inboxes(after: string, limit: number): string[] {
    const recent = this.#inboxes.withRecent().filter((name) => name > after);
    return [...new Set([...this.#aged.inboxes(after, limit), ...recent])].sort().slice(0, limit);
  }

  /** As `AgedMessages.scanExpired`, and all recent ones that are expired. */
  scanExpired(afterSeq: number, rows: number, now: number): { expired: StoredMetadata[]; lastSeq: number } {
    const { expired, lastSeq } = this.#aged.scanExpired(afterSeq, rows, now);
    const recent = this.#recent.unsettledWhere((one) => one.expiresAt <= now);
    return { expired: [...expired, ...recent.map(metadataOf)], lastSeq };
  }

  /** The first bundles after the one with this number: some thousand messages. */
  nextBundles(after: number): ReturnType<AgedMessages['bundles']['next']> {
    return this.#aged.bundles.next(after);
  }

  recent(): Iterable<RecentMessage> {
    return this.#recent.all();
  }

  /** Writes what this transaction did to recent messages. Its last step. */
  save(): void {
    const { recentMessages, recentBytes } = this.#limits;
    while (this.#recent.size > recentMessages || this.#recent.recorded > recentBytes) this.#age(agedAtOnce);
    this.#aged.counts.save();
    if (this.#record.isEmpty) return;
    this.#records.insert(this.#number, this.#record.take());
    this.#number++;
  }

  /** Housekeeping, in a transaction of its own: ages what has been recent for long. */
  tidy(now: number): void {
    this.#inboxes.forgetEmpty();
    const { since } = this.#recent;
    if (since === undefined || now - since < 2 * recentMs) return;
    this.#age(this.#recent.countSince(now - recentMs));
    this.save();
  }

  /** All settled ones, whose place on the disk may be wanted. */
  ageAll(): void {
    this.#age(Number.POSITIVE_INFINITY);
  }

  /** After a rollback, which has made what is in memory doubtful. */
  reload(now: number): void {
    this.pages.reload();
    this.#aged.reload();
    this.#replay(now);
  }

  #unsettled(inbox: string, seq: number): RecentMessage | undefined {
    return this.#inboxes.known(inbox)?.unsettled.get(seq);
  }

  #unsettledOf(inbox: string): Iterable<RecentMessage> {
    return this.#inboxes.known(inbox)?.unsettled.values() ?? [];
  }

  #after(inbox: string, afterSeq: number, limit: number): Iterable<StoredMessage> {
    const aged = this.#aged.after(inbox, afterSeq, limit);
    return merged(aged, this.#recentAfter(inbox, afterSeq));
  }

  *#recentAfter(inbox: string, afterSeq: number): Iterable<StoredMessage> {
    for (const recent of this.#unsettledOf(inbox)) if (recent.seq > afterSeq) yield storedOf(recent);
  }

  /** One from the table comes back to be settled: it leaves for its page together with others. */
  #taken(name: string, seq: number, now: number): RecentMessage | undefined {
    const inbox = this.#inboxes.of(name);
    const taken = this.#aged.takeRow(name, seq);
    if (!taken) return undefined;
    return this.#addRecent(seq, inbox, taken, taken.size, now);
  }

  /** One from a bundle comes back, and all others with it: they are likely next. */
  #unbundled(name: string, seq: number, now: number): RecentMessage | undefined {
    const inbox = this.#inboxes.of(name);
    const messages = this.#aged.takeBundle(name, seq);
    if (messages.length === 0) return undefined;
    for (const message of messages) this.#addRecent(message.seq, inbox, message, message.size, now);
    inbox.sort();
    return inbox.unsettled.get(seq);
  }

  #addRecent(seq: number, inbox: Inbox, message: NewMessage, size: number, now: number): RecentMessage {
    this.#lastOrigin = originOf(inbox, message, this.#lastOrigin);
    const recent = new RecentMessage(seq, this.#lastOrigin, message, size);
    this.#recent.add(recent, this.#number, now);
    this.#record.added(recent);
    return recent;
  }

  /** Moves the oldest recent ones to the tables, `atLeast` so many: whole records. */
  #age(atLeast: number): void {
    const { messages, upTo } = this.#recent.takeOldest(atLeast);
    if (upTo === undefined) return;
    const settled = messages.filter(isSettled);
    if (settled.length > 0) this.pages.add(settled);
    const unsettled = messages.filter((one) => !isSettled(one));
    if (unsettled.length > 0) this.#aged.add(unsettled);
    if (upTo === this.#number) this.#record.clear();
    this.#records.forget(upTo);
  }

  #replay(now: number): void {
    this.#recent.clear();
    this.#record.clear();
    this.#inboxes.clear();
    for (const { number, ...text } of this.#records.all()) {
      readRecord(text, {
        added: (seq, message, size) => {
          const inbox = this.#inboxes.of(message.inbox);
          this.#lastOrigin = originOf(inbox, message, this.#lastOrigin);
          this.#recent.add(new RecentMessage(seq, this.#lastOrigin, message, size), number, now);
          inbox.count(message.sender, size);
        },
        // What is not there has aged since.
        ended: (inbox, seq, ending) => {
          const recent = this.#unsettled(inbox, seq);
          if (recent) this.#recent.settle(recent, ending);
        },
        tried: (inbox, seq, attempts) => {
          const recent = this.#unsettled(inbox, seq);
          if (recent) recent.attempts = attempts;
        },
      });
      this.#number = number + 1;
    }
    this.#inboxes.sort();
  }
}

function firstOf(messages: StoredMetadata[], limit: number): StoredMetadata[] {
  return messages.sort((a, b) => a.seq - b.seq).slice(0, Math.max(limit, 0));
}

function isSame(a: Content, b: Content): boolean {
  return a.kind === b.kind && a.correlationId === b.correlationId && a.body === b.body;
}

function isWaiting(recent: RecentMessage | undefined): recent is RecentMessage {
  return recent !== undefined && recent.ending === undefined;
}

function foundOf({ seq, kind, senderAddress, outcome }: RecentMessage): FoundMessage {
  return { seq, kind, senderAddress, ...(outcome && { outcome }) };
}
