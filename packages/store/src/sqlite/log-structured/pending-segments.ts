import type { Database } from 'better-sqlite3';
import { type ExpiryTime, hasExpired } from '../../expiry-time.ts';
import type { InboxBacklog } from '../../inbox-store.ts';
import type { LoggedMessage } from '../../logged-message.ts';
import { PendingCounts } from './pending-counts.ts';
import { type PendingRange, PendingRanges } from './pending-ranges.ts';
import {
  type CheckedSegment,
  type PendingTables,
  repairSegments,
  type StoreDamage,
  verifySegments,
} from './repair-segments.ts';
import type { Segment } from './segment.ts';
import type { Segments } from './segments.ts';

/** The approximate bytes of bodies in one segment. */
const segmentBytes = 128 * 1024;
/** The most inboxes in one segment: reading one message decodes those of the other inboxes, too. */
const segmentInboxes = 32;
/** The number of segments that are less than half full at which they are merged. */
const mergedAtOnce = 8;
/** The approximate number of messages that one step searches for expired ones. */
const expiryStep = 2000;

/**
 * The messages that are pending in segments. A segment never changes: ranges tell which of its messages are still pending, and counts give
 * their number for each sender. Transactions are the caller's.
 */
export class PendingSegments {
  readonly counts: PendingCounts;
  readonly #segments: Segments;
  readonly #ranges: PendingRanges;
  readonly #segmentMessages: number;
  /** Segments that are less than half full. */
  readonly #sparse = new Set<Segment>();
  /** The number of the segment up to which expired messages were searched for. */
  #swept = 0;

  /** `segmentMessages` is the most messages of one segment. */
  constructor(db: Database, segments: Segments, segmentMessages: number) {
    this.counts = new PendingCounts(db);
    this.#segments = segments;
    this.#ranges = new PendingRanges(db);
    this.#segmentMessages = segmentMessages;
    this.reload();
  }

  /** Forgets the changes of a transaction, after a rollback, when the segments have been read again. */
  reload(): void {
    this.counts.reset();
    this.#ranges.forgetChanges();
    this.#sparse.clear();
    for (const segment of this.#pendingSegments()) this.#noteSparse(segment);
  }

  /** Writes pending messages into new segments. */
  add(messages: readonly LoggedMessage[]): void {
    // The neighbours in an inbox are read together, and the neighbours in the indexes share their pages.
    const sorted = messages.toSorted((a, b) => compare(a.shared.inbox, b.shared.inbox) || a.seq - b.seq);
    const { end } = this.#ranges;
    for (const { messages: part, fill } of this.#parts(sorted)) this.#addSegment(part, fill, end);
  }

  /** Removes a message from its segment, so that it can be settled or written again. */
  take(inbox: string, seq: number): LoggedMessage | undefined {
    const range = this.#ranges.holding(inbox, seq);
    if (!range) return undefined;
    const messages = this.#segments.read(range.segment);
    const at = placeOf(messages, inbox, seq);
    const taken = messages[at];
    // The number may belong to a message of another inbox.
    if (taken?.seq !== seq) return undefined;
    this.#cut(range, messages, at, at + 1);
    const segment = this.#segments.countOff(range.segment);
    if (segment) this.#noteSparse(segment);
    this.#uncount(taken);
    return taken;
  }

  /**
   * Removes all messages of segments that are less than half full, once there are several of these segments. The caller adds the messages
   * again, together with others.
   */
  takeSparse(): LoggedMessage[] {
    if (this.#sparse.size < mergedAtOnce) return [];
    const oldest = [...this.#sparse].slice(0, 2 * mergedAtOnce);
    return oldest.flatMap((segment) => {
      const messages: LoggedMessage[] = [];
      for (const range of this.#rangesOf(segment)) {
        messages.push(...this.#messagesOf(range));
        this.#ranges.remove(range);
      }
      for (const message of messages) this.#uncount(message);
      this.#segments.drop(segment);
      this.#sparse.delete(segment);
      return messages;
    });
  }

  /** Tells whether a message that was found in a segment is still pending there. */
  holds(message: LoggedMessage, segment: Segment): boolean {
    return this.#ranges.holding(message.shared.inbox, message.seq)?.segment === segment.number;
  }

  /** Yields the messages of one inbox after a sequence number, in order. */
  *after(inbox: string, afterSeq: number): Iterable<LoggedMessage> {
    let range = this.#ranges.next(inbox, afterSeq);
    for (; range; range = this.#ranges.next(inbox, range.last)) {
      for (const message of this.#messagesOf(range)) if (message.seq > afterSeq) yield message;
    }
  }

  /** Returns the messages of one segment that are still pending. */
  messagesIn(segment: Segment): LoggedMessage[] {
    return [...this.#rangesOf(segment)].flatMap((range) => this.#messagesOf(range));
  }

  /** Returns the highest sequence number of an inbox, or 0 if it has none. */
  headSeq(inbox: string): number {
    return this.#ranges.headSeq(inbox);
  }

  /** Returns the highest sequence number of all inboxes, or 0 if there is none. */
  highestSeq(): number {
    return this.#ranges.highestSeq();
  }

  /** Returns the message with the lowest sequence number of all inboxes. */
  oldest(): LoggedMessage | undefined {
    const range = this.#ranges.lowest();
    return range && this.get(range.inbox, range.first);
  }

  /** Counts the pending messages of the inboxes after a name, in order, without reading segments. */
  backlogs(after: string, limit: number): InboxBacklog[] {
    const first = this.#ranges.firstOfInboxes(after, limit);
    const bytes = this.counts.bytesOfInboxes(after, limit);
    return first.map((one) => ({ ...one, bytes: bytes.get(one.inbox) ?? 0 }));
  }

  /** Returns the names of inboxes with messages after a name, in order. */
  inboxes(after: string, limit: number): string[] {
    return this.#ranges.inboxes(after, limit);
  }

  /** Returns one message, which stays in its segment. */
  get(inbox: string, seq: number): LoggedMessage | undefined {
    const range = this.#ranges.holding(inbox, seq);
    if (!range) return undefined;
    const messages = this.#segments.read(range.segment);
    const message = messages[placeOf(messages, inbox, seq)];
    return message?.seq === seq ? message : undefined;
  }

  /** Returns the messages that were sent with a token, in no order. */
  sentWith(tokenId: string): LoggedMessage[] {
    const found: LoggedMessage[] = [];
    for (const segment of this.#pendingSegments()) {
      if (!segment.tokenIds.includes(tokenId)) continue;
      for (const message of this.messagesIn(segment))
        if (message.shared.tokenId === tokenId) found.push(message);
    }
    return found;
  }

  /** Returns some of the expired messages; repeated calls return all. */
  expired(time: ExpiryTime): LoggedMessage[] {
    const found: LoggedMessage[] = [];
    let looked = 0;
    for (const segment of this.#pendingSegments()) {
      if (segment.number <= this.#swept || segment.until > time.latest) continue;
      if (looked >= expiryStep) return found;
      looked += segment.messages;
      this.#swept = segment.number;
      const messages = this.messagesIn(segment);
      const expired = messages.filter(({ shared }) => hasExpired(shared, time));
      // The message that would expire first may have been settled: the segment need not be read again before the next one expires.
      if (expired.length === 0) segment.until = Math.min(...messages.map(({ shared }) => shared.expiresAt));
      found.push(...expired);
    }
    this.#swept = 0;
    return found;
  }

  /** See {@link repairSegments}. */
  repair(found: ReadonlySet<number>): StoreDamage {
    return repairSegments(this.#tables, found);
  }

  /** See {@link verifySegments}. */
  verify(): Iterable<CheckedSegment> {
    return verifySegments(this.#tables);
  }

  get #tables(): PendingTables {
    return { segments: this.#segments, ranges: this.#ranges, pending: this };
  }

  /** Writes the counts that changed. Call it as one of the last steps of a transaction. */
  save(): void {
    this.#ranges.save();
    this.#segments.save();
    this.counts.save();
  }

  /** Splits messages into segments, in the order in which they are written. */
  *#parts(sorted: readonly LoggedMessage[]): Iterable<{ messages: LoggedMessage[]; fill: number }> {
    let messages: LoggedMessage[] = [];
    let bytes = 0;
    let inboxes = 0;
    let last: string | undefined;
    for (const message of sorted) {
      const { inbox } = message.shared;
      if (inbox !== last) inboxes++;
      last = inbox;
      messages.push(message);
      bytes += message.size;
      const isFull =
        messages.length >= this.#segmentMessages || bytes >= segmentBytes || inboxes >= segmentInboxes;
      if (!isFull) continue;
      yield { messages, fill: 1 };
      messages = [];
      bytes = 0;
      inboxes = 0;
      last = undefined;
    }
    const shares = [messages.length / this.#segmentMessages, bytes / segmentBytes, inboxes / segmentInboxes];
    if (messages.length > 0) yield { messages, fill: Math.max(...shares) };
  }

  /** `rangesEnd` is a number after which no range ended before these messages and those added with them. */
  #addSegment(messages: readonly LoggedMessage[], fill: number, rangesEnd: number): void {
    const segment = this.#segments.write('pending', messages, fill);
    this.#noteSparse(segment);
    let range: { -readonly [Field in keyof PendingRange]: PendingRange[Field] } | undefined;
    /** The first number of the inbox's next range. */
    let end = Number.POSITIVE_INFINITY;
    for (const { shared, seq, size } of messages) {
      const { inbox } = shared;
      this.counts.count(1, shared, size);
      if (range?.inbox === inbox && seq < end) {
        range.last = seq;
        range.messages++;
        continue;
      }
      if (range) this.#ranges.add(range);
      range = { inbox, first: seq, last: seq, segment: segment.number, messages: 1 };
      // The messages that were added with this one are sorted, so those of its inbox have lower numbers.
      const next = seq > rangesEnd ? undefined : this.#rangeAfter(inbox, seq);
      end = next?.first ?? Number.POSITIVE_INFINITY;
    }
    if (range) this.#ranges.add(range);
  }

  /**
   * Returns the first range of an inbox after a number that is in no segment yet. If messages went to a segment before their neighbour did,
   * the range around the number is split there.
   */
  #rangeAfter(inbox: string, seq: number): PendingRange | undefined {
    const range = this.#ranges.next(inbox, seq);
    if (!range || range.first > seq) return range;
    const messages = this.#segments.read(range.segment);
    const at = placeOf(messages, inbox, seq);
    this.#cut(range, messages, at, at);
    return this.#ranges.next(inbox, seq);
  }

  /** Cuts a range of these messages in two: the part before the place `at`, and the part from the place `rest` on. */
  #cut(range: PendingRange, messages: readonly LoggedMessage[], at: number, rest: number): void {
    const before = messages[at]?.seq === range.first ? 0 : at - placeOf(messages, range.inbox, range.first);
    const behind = range.messages - before - (rest - at);
    this.#ranges.cut(
      range,
      before > 0 ? { last: messages[at - 1]!.seq, messages: before } : undefined,
      behind > 0 ? { first: messages[rest]!.seq, messages: behind } : undefined,
    );
  }

  #uncount({ shared, size }: LoggedMessage): void {
    this.counts.count(-1, shared, size);
  }

  *#pendingSegments(): Iterable<Segment> {
    for (const segment of this.#segments.all()) if (segment.kind === 'pending') yield segment;
  }

  #noteSparse(segment: Segment): void {
    const { fill, pending, messages } = segment;
    if (pending > 0 && 2 * fill * pending < messages) this.#sparse.add(segment);
    else this.#sparse.delete(segment);
  }

  /** Yields the ranges of all inboxes in a segment. */
  *#rangesOf({ number }: Segment): Iterable<PendingRange> {
    let range: PendingRange | undefined;
    for (const { shared, seq } of this.#segments.read(number)) {
      if (range?.inbox === shared.inbox && seq <= range.last) continue;
      range = this.#ranges.next(shared.inbox, seq - 1);
      if (range?.segment === number) yield range;
    }
  }

  #messagesOf({ inbox, first, last, segment }: PendingRange): readonly LoggedMessage[] {
    const messages = this.#segments.read(segment);
    return messages.slice(placeOf(messages, inbox, first), placeOf(messages, inbox, last) + 1);
  }
}

/** Returns the place of a message in a segment, or the place where it would be. */
function placeOf(messages: readonly LoggedMessage[], inbox: string, seq: number): number {
  let from = 0;
  let to = messages.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const message = messages[middle]!;
    if ((compare(message.shared.inbox, inbox) || message.seq - seq) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
