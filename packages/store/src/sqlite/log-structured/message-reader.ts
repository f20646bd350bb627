import { type ExpiryTime, hasExpired } from '../../expiry-time.ts';
import type { Backlog, FoundMessage, InboxBacklog, InboxStats, WaitingPage } from '../../inbox-store.ts';
import {
  foundMessageOf,
  hasLostBody,
  type LoggedMessage,
  repeatOf,
  storedMessageOf,
  storedMetadataOf,
} from '../../logged-message.ts';
import type { NewMessage, StoredMessage, StoredMetadata } from '../../message.ts';
import type { AgentUsage } from './agent-usage.ts';
import type { Inbox } from './inbox.ts';
import type { Memtable } from './memtable.ts';
import type { PendingSegments } from './pending-segments.ts';
import type { Segment } from './segment.ts';
import type { Segments } from './segments.ts';

/** The number of messages of an inbox that `tried` considers. */
const triedDepth = 10_000;

/** Reads messages from the memtable and from segments. A message is in one of them, never in both. */
export class MessageReader {
  readonly #memtable: Memtable;
  readonly #segments: Segments;
  readonly #pending: PendingSegments;
  readonly #usage: AgentUsage;

  constructor(memtable: Memtable, segments: Segments, pending: PendingSegments, usage: AgentUsage) {
    this.#usage = usage;
    this.#memtable = memtable;
    this.#segments = segments;
    this.#pending = pending;
  }

  /** Tells whether a message repeats a known id. Returns undefined for a new id. */
  repeatOf(inbox: Inbox, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    return repeatOf(this.#find(inbox, message.id, message.sender), message);
  }

  /** Tells whether a message with this id is pending. */
  isPending(inbox: Inbox, id: string, sender: string): boolean {
    const found = this.#find(inbox, id, sender);
    return found !== undefined && found.ending === undefined;
  }

  /** Finds a message by its id: the pending one, or else the newest settled one. */
  withId(id: string, inbox: string, sender: string | undefined): LoggedMessage | undefined {
    return this.#find(this.#memtable.inbox(inbox), id, sender);
  }

  /** Finds a message by its id, pending or settled. */
  find(id: string, inbox: string, sender: string): FoundMessage | undefined {
    const found = this.withId(id, inbox, sender);
    return found && foundMessageOf(found);
  }

  /** Finds the messages of up to `limit` senders with one id, as {@link find} does for each of them. */
  findOfAnySender(id: string, name: string, limit: number): FoundMessage[] {
    const found = new Map<string, LoggedMessage>();
    // The newest message of a sender comes first.
    const keep = (message: LoggedMessage) => {
      const { sender } = message.shared;
      if (!found.has(sender) && found.size < limit) found.set(sender, message);
    };
    const inbox = this.#memtable.inbox(name);
    for (let entry = inbox.find(id); entry !== undefined; entry = entry.sameId) keep(entry);
    if (this.#segments.mayHold(id)) {
      this.#segments.find(id, (message, segment) => {
        if (this.#isHeld(message, segment, name)) keep(message);
        return found.size === limit;
      });
    }
    return [...found.values()].map(foundMessageOf);
  }

  /** Finds one pending message by its number. */
  get(inbox: string, seq: number): LoggedMessage | undefined {
    return this.#memtable.pendingEntry(inbox, seq) ?? this.#pending.get(inbox, seq);
  }

  /** Reads pending messages of an inbox in order, at least one if there is one. */
  read(inbox: string, afterSeq: number, limit: number, maxBytes: number): StoredMessage[] {
    const messages: StoredMessage[] = [];
    let bytes = 0;
    if (limit <= 0) return messages;
    for (const message of this.#after(inbox, afterSeq)) {
      bytes += message.size;
      if (messages.length > 0 && bytes > maxBytes) break;
      messages.push(storedMessageOf(message));
      if (messages.length === limit) break;
    }
    return messages;
  }

  stats(inbox: string): InboxStats {
    const { messages: pending, bytes, pendingEntries } = this.#memtable.inbox(inbox);
    // Most inboxes have nothing in segments, and each query costs a lock.
    let headSeq = pending > pendingEntries.size ? this.#pending.headSeq(inbox) : 0;
    for (const seq of pendingEntries.keys()) headSeq = Math.max(headSeq, seq);
    return { pending, bytes, headSeq };
  }

  /** Counts the pending messages of all inboxes, and finds the time when the one with the lowest number was created. */
  backlog(): Omit<Backlog, 'dead' | 'scheduled'> {
    let oldest = this.#pending.oldest();
    for (const message of this.#memtable.firstOfInboxes())
      if (!oldest || message.seq < oldest.seq) oldest = message;
    return { pending: this.#usage.pending, ...(oldest && { oldestAt: oldest.shared.createdAt }) };
  }

  /** Returns agents with messages in their own inboxes, in order, among the next `limit` agents for which anything is stored. */
  waiting(after: string, limit: number): WaitingPage {
    const rest = [...this.#usage.recipients()].filter((agent) => agent > after).sort();
    const page = rest.slice(0, limit);
    const agents = page.flatMap((agent) => {
      const [oldest] = this.#memtable.inbox(agent).messages > 0 ? this.#after(agent, 0) : [];
      if (!oldest) return [];
      const { messages: pending } = this.#memtable.inbox(agent);
      return { agent, pending, oldestAt: oldest.shared.createdAt };
    });
    const last = page.at(-1);
    return { agents, ...(rest.length > limit && last !== undefined && { cursor: last }) };
  }

  /** Counts the pending messages of the inboxes after a name, in the order of their names. */
  inboxBacklogs(after: string, limit: number): InboxBacklog[] {
    const backlogs = new Map(this.#pending.backlogs(after, limit).map((one) => [one.inbox, one]));
    for (const { shared, seq, size } of this.#memtable.pendingWhere(({ shared }) => shared.inbox > after)) {
      const { inbox } = shared;
      const known = backlogs.get(inbox);
      if (!known) backlogs.set(inbox, { inbox, pending: 1, bytes: size, oldestSeq: seq });
      else {
        known.pending++;
        known.bytes += size;
        known.oldestSeq = Math.min(known.oldestSeq, seq);
      }
    }
    // Inboxes after the last one of the segments' answer are counted by a later call.
    return [...backlogs.values()].sort((a, b) => compare(a.inbox, b.inbox)).slice(0, limit);
  }

  /** Returns the names of inboxes with pending messages, in order. */
  inboxes(after: string, limit: number): string[] {
    const names = this.#memtable.inboxNames().filter((name) => name > after);
    return [...new Set([...this.#pending.inboxes(after, limit), ...names])].sort().slice(0, limit);
  }

  /** Returns the pending messages that were sent with a token, in order. */
  sentWith(tokenId: string, limit: number): StoredMetadata[] {
    const entries = this.#memtable.pendingWhere(({ shared }) => shared.tokenId === tokenId);
    return [...this.#pending.sentWith(tokenId), ...entries]
      .sort((a, b) => a.seq - b.seq)
      .slice(0, Math.max(limit, 0))
      .map(storedMetadataOf);
  }

  /** Returns the pending messages of an inbox that have attempts, or whose number is among `seqs`, in order. */
  tried(inbox: string, seqs: readonly number[], limit: number): StoredMetadata[] {
    const asked = new Set(seqs);
    const found: StoredMetadata[] = [];
    let looked = 0;
    for (const message of this.#after(inbox, 0)) {
      if (found.length >= limit || ++looked > triedDepth) break;
      if (message.attempts > 0 || asked.has(message.seq)) found.push(storedMetadataOf(message));
    }
    return found;
  }

  /** Returns all expired messages of the memtable and some of segments; repeated calls return all. Damaged messages are among them. */
  expired(time: ExpiryTime): StoredMetadata[] {
    const entries = this.#memtable.pendingWhere((one) => hasExpired(one.shared, time) || hasLostBody(one));
    return [...this.#pending.expired(time), ...entries].map(storedMetadataOf);
  }

  /** Yields all expired messages, in parts. Commits may happen between two parts. */
  *expiredInParts(time: ExpiryTime): Iterable<LoggedMessage[]> {
    for (const segment of this.#segments.all()) {
      if (segment.kind === 'settled' || segment.until > time.latest) continue;
      yield this.#pending.messagesIn(segment).filter(({ shared }) => hasExpired(shared, time));
    }
    yield this.#memtable.pendingWhere(({ shared }) => hasExpired(shared, time));
  }

  /**
   * Yields all messages, pending and settled, in parts. Messages that were settled before `since` may be left out. A message that changes
   * meanwhile may come twice: the later one has its present state. Commits may happen between two parts.
   */
  *scan(since: number): Iterable<Iterable<LoggedMessage>> {
    // A message moves to a segment that is newer than all others, so the scan finds it even if it was not where the scan had looked.
    for (const segment of this.#segments.all()) {
      if (segment.kind === 'pending') yield this.#pending.messagesIn(segment);
      else if (segment.until >= since) yield this.#segments.read(segment.number);
    }
    yield this.#memtable.entries();
  }

  /** Finds a pending message with this id, or else the newest settled one. */
  #find(inbox: Inbox, id: string, sender: string | undefined): LoggedMessage | undefined {
    const entry = inbox.find(id, sender);
    if (entry || !this.#segments.mayHold(id)) return entry;
    return this.#segments.find(
      id,
      (message, segment) =>
        (sender === undefined || message.shared.sender === sender) &&
        this.#isHeld(message, segment, inbox.name),
    );
  }

  /** Tells whether a message of a segment belongs to this inbox and is still as the segment has it. */
  #isHeld(message: LoggedMessage, segment: Segment, inbox: string): boolean {
    const isCurrent = segment.kind === 'settled' || this.#pending.holds(message, segment);
    return message.shared.inbox === inbox && isCurrent;
  }

  *#after(inbox: string, afterSeq: number): Iterable<LoggedMessage> {
    const entries = this.#memtable.pendingIn(inbox)[Symbol.iterator]();
    let entry = entries.next();
    for (const message of this.#pending.after(inbox, afterSeq)) {
      for (; !entry.done && entry.value.seq < message.seq; entry = entries.next())
        if (entry.value.seq > afterSeq) yield entry.value;
      yield message;
    }
    for (; !entry.done; entry = entries.next()) if (entry.value.seq > afterSeq) yield entry.value;
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
