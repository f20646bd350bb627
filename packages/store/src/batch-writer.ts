import {
  type Amount,
  type Excess,
  ordinaryCaps,
  type ReceivingCaps,
  receivingExcess,
  type StoreCaps,
  unitExceeded,
  withoutReserve,
} from './caps.ts';
import type { DeadLetter, Retried } from './dead-letters.ts';
import type { Appended, Batch, RequestKey, Settlement } from './inbox-store.ts';
import { type LoggedMessage, storedMetadataOf } from './logged-message.ts';
import type { NewMessage, Outcome, Release, StoredMetadata } from './message.ts';
import type { FoundRequest } from './open-requests.ts';
import type { ScheduledPlace, Taken } from './scheduled-rules.ts';

/** The approximate size of a message in the file besides its body. */
const messageOverheadBytes = 512;
/**
 * After this many stored bytes the size of the database is read again. It is larger than the largest message, which would otherwise find no
 * room.
 */
const trustedBytes = 64 * 1024 * 1024;

/** An inbox with the count of its pending messages. */
export interface CountedInbox extends Amount {
  readonly name: string;
  /** The agent to which the inbox belongs. */
  readonly agent: string;
}

/** The operations on a store's messages, pending and settled, that a batch needs. */
export interface BatchMessages<Inbox extends CountedInbox> {
  readonly reader: {
    get(inbox: string, seq: number): LoggedMessage | undefined;
    repeatOf(inbox: Inbox, message: NewMessage): 'duplicate' | 'id_conflict' | undefined;
    isPending(inbox: Inbox, id: string, sender: string): boolean;
    withId(id: string, inbox: string, sender: string): LoggedMessage | undefined;
  };
  readonly requests: {
    find(key: RequestKey, settles?: { inbox: string; seq: number }): FoundRequest | undefined;
  };
  inbox(name: string): Inbox;
  put(seq: number, inbox: Inbox, message: NewMessage, size: number, isCounted: boolean): void;
  settle(
    inbox: string,
    seq: number,
    at: number,
    outcome: Outcome,
    reason: string | null,
    isAnswered?: boolean,
  ): boolean;
  setTaken(inbox: string, seq: number, agent: string): void;
  setAttempts(inbox: string, seq: number, attempts: number): void;
  setAnswered(key: RequestKey, request: FoundRequest): void;
  /** Marks a message as cancelled, if several brokers share the store. */
  setCancelled?(inbox: string, seq: number): void;
  /**
   * Tells whether a broker can have handed out a message, if several brokers share the store. `isKnown` is true if this broker
   * holds the inbox and has not handed the message out.
   */
  mayBeHandedOut?(inbox: string, seq: number, isKnown: boolean): boolean;
  /** Frees the room that settled messages take. */
  compactAll(): void;
  /** Ends the batch. */
  save(): void;
}

/** The operations on a store's dead letters that a batch needs. */
export interface BatchDeadLetters {
  add(message: LoggedMessage, reason: string | null, deadAt: number): void;
  find(seq: number): (DeadLetter & { body?: string | undefined }) | undefined;
  drop(seq: number): { isCounted: boolean } | undefined;
}

/** The operations on a store's scheduled messages that a batch needs. */
export interface BatchScheduled {
  /** The number of all scheduled messages. It may be 0 if none of them concerns the batch. */
  readonly count: number;
  amount(inbox: string): Readonly<Amount>;
  add(number: number, message: NewMessage, size: number, isCounted: boolean): void;
  repeatOf(inbox: string, message: NewMessage): 'duplicate' | 'id_conflict' | undefined;
  drop(message: NewMessage, release: Release): boolean;
  take(place: ScheduledPlace): Taken | undefined;
}

/** The amounts that are stored of each sender and for each recipient. */
export interface BatchUsage {
  received(agent: string): Readonly<Amount> | undefined;
  sent(sender: string): Readonly<Amount> | undefined;
  sentTo(sender: string, agent: string): Readonly<Amount> | undefined;
}

export interface BatchWriterDeps<Inbox extends CountedInbox> {
  messages: BatchMessages<Inbox>;
  dead: BatchDeadLetters;
  scheduled: BatchScheduled;
  /** Gives out sequence numbers. Before its transaction the caller reserves as many numbers as a change may need. */
  sequence: { next(): number };
  usage: BatchUsage;
  caps: StoreCaps;
  isPrivileged: (agent: string) => boolean;
  /** Returns the bytes of everything that is stored, without the current transaction. */
  usedBytes: () => number;
}

/**
 * Applies batches by the rules of the store: which messages are stored, which are refused, and what settling and retrying mean.
 * Transactions are the caller's.
 */
export class BatchWriter<Inbox extends CountedInbox> {
  readonly #messages: BatchMessages<Inbox>;
  readonly #dead: BatchDeadLetters;
  readonly #scheduled: BatchScheduled;
  readonly #sequence: { next(): number };
  readonly #usage: BatchUsage;
  readonly #caps: StoreCaps;
  /** The caps for messages with a quota. */
  readonly #ordinaryCaps: ReceivingCaps;
  readonly #isPrivileged: (agent: string) => boolean;
  readonly #usedBytes: () => number;
  /** The bytes that certainly fit under the cap on everything that is stored, without its reserve; at most {@link trustedBytes}. */
  #room = 0;
  /** The same with the reserve. */
  #roomWithReserve = 0;
  /** The bytes of this transaction's messages, which the size of the database does not include yet. */
  #unsaved = 0;

  constructor({
    messages,
    dead,
    scheduled,
    sequence,
    usage,
    caps,
    isPrivileged,
    usedBytes,
  }: BatchWriterDeps<Inbox>) {
    this.#usage = usage;
    this.#messages = messages;
    this.#dead = dead;
    this.#scheduled = scheduled;
    this.#sequence = sequence;
    this.#caps = caps;
    this.#ordinaryCaps = ordinaryCaps(caps);
    this.#isPrivileged = isPrivileged;
    this.#usedBytes = usedBytes;
  }

  /** Applies a batch. Returns one answer for each of its messages, in their order. */
  apply({ takings = [], messages, attempts, settlements, cancelled = [] }: Batch, now: number): Appended[] {
    for (const { inbox, seq, agent } of takings) this.#messages.setTaken(inbox, seq, agent);
    const appended = this.#appendAll(messages, now);
    for (const { inbox, seq, attempts: count } of attempts) this.#messages.setAttempts(inbox, seq, count);
    for (const settlement of settlements) this.#settleWhole(settlement, now);
    for (const { inbox, seq } of cancelled) this.#messages.setCancelled?.(inbox, seq);
    this.#save();
    return appended;
  }

  /** Settles a message. If that takes effect, stores the notice to its sender. */
  #settleWhole(settlement: Settlement, now: number): void {
    const { inbox, seq, outcome, reason = null, notice, ifNotHandedOut, orMark } = settlement;
    const isWanted = notice && !this.#messages.reader.get(inbox, seq)?.answered;
    const mayBeOut =
      ifNotHandedOut && (this.#messages.mayBeHandedOut?.(inbox, seq, ifNotHandedOut.isKnown) ?? true);
    const isSettled = this.#settle(inbox, seq, now, outcome, reason);
    if (isSettled && isWanted)
      this.#notify(mayBeOut === false ? { ...notice, body: ifNotHandedOut?.body } : notice);
    if (!isSettled && orMark) this.#messages.setCancelled?.(inbox, seq);
  }

  /**
   * Puts a dead letter into its inbox again. Its id may belong to a settled message, since that was the same message, but not to a pending
   * one.
   */
  retry(seq: number, now: number, leastMs = 0): Retried {
    const retried = this.#retry(seq, now, leastMs);
    // This is needed even if the retry was refused: the search for room may have compacted the memtable.
    this.#save();
    return retried;
  }

  /** Ends scheduled messages: they become settled messages that were cancelled. Returns those that could be read. */
  cancelScheduled(places: readonly ScheduledPlace[], now: number): StoredMetadata[] {
    const cancelled: StoredMetadata[] = [];
    for (const place of places) {
      const taken = this.#scheduled.take(place);
      if (!taken) continue;
      const { shared, size, ...content } = taken.message;
      const inbox = this.#messages.inbox(shared.inbox);
      const sent = { createdAt: taken.sentAt, openUntil: undefined, body: undefined };
      const seq = this.#add({ ...content, ...shared, ...sent }, size, inbox, shared.isCounted);
      this.#messages.settle(inbox.name, seq, now, 'cancelled', null);
      cancelled.push({ ...storedMetadataOf(taken.message), ...sent, seq });
    }
    this.#save();
    return cancelled;
  }

  /** Forgets the room that was left, after a rollback. */
  reset(): void {
    this.#room = 0;
    this.#roomWithReserve = 0;
    this.#unsaved = 0;
  }

  #save(): void {
    this.#messages.save();
    this.#unsaved = 0;
  }

  #retry(seq: number, now: number, leastMs: number): Retried {
    const letter = this.#dead.find(seq);
    if (!letter) return { result: 'unknown' };
    if (letter.damaged) return { result: 'damaged' };
    const { id, sender, size, createdAt, expiresAt, openUntil } = letter;
    const inbox = this.#messages.inbox(letter.inbox);
    const refusal = this.#refusal(inbox, size, true);
    if (refusal) return { result: refusal };
    const isThere =
      this.#messages.reader.isPending(inbox, id, sender) || this.#scheduled.repeatOf(inbox.name, letter);
    if (isThere) return { result: 'id_conflict' };
    const isCounted = this.#dead.drop(seq)?.isCounted ?? false;
    const lifetimeMs = Math.max(expiresAt - createdAt, leastMs);
    const times = {
      createdAt: now,
      expiresAt: now + lifetimeMs,
      openUntil: openUntil === undefined ? undefined : now + lifetimeMs + openUntil - expiresAt,
    };
    const again = this.#add({ ...letter, ...times }, size, inbox, isCounted);
    return { result: 'stored', inbox: inbox.name, seq: again };
  }

  #appendAll(messages: readonly NewMessage[], now: number): Appended[] {
    const appended: Appended[] = [];
    for (const message of messages) {
      appended.push(
        message.answers === undefined ? this.#appendOther(message, now) : this.#appendReply(message, now),
      );
    }
    return appended;
  }

  #appendOther(message: NewMessage, now: number): Appended {
    const inbox = this.#messages.inbox(message.inbox);
    if (message.copies) {
      const appended = this.#appendToAll(message, message.copies, inbox, now);
      if (isHere(appended)) this.#settleWith(message, now);
      return appended;
    }
    // A repeat is recognised in a full inbox, too: its sender only missed the receipt.
    if (message.release !== undefined) return this.#release(message, message.release, inbox);
    const repeat = this.#repeatOf(inbox, message);
    const appended: Appended = repeat ? { result: repeat } : this.#appendNew(message, inbox);
    if (isHere(appended)) this.#settleWith(message, now);
    return appended;
  }

  /** Moves a scheduled message into its inbox. It counted already, so no cap can refuse it. */
  #release(message: NewMessage, release: Release, inbox: Inbox): Appended {
    if (!this.#scheduled.drop(message, release)) return { result: 'gone' };
    const { size, isCounted } = release;
    const seq = this.#add(message, size, inbox, isCounted);
    return { result: 'stored', seq, ...(message.body === undefined && size > 0 && { isDamaged: true }) };
  }

  #repeatOf(inbox: Inbox, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    const repeat = this.#messages.reader.repeatOf(inbox, message);
    if (repeat !== undefined || this.#scheduled.count === 0) return repeat;
    return this.#scheduled.repeatOf(inbox.name, message);
  }

  /** Appends a copy for each of many agents. In the group's inbox it stores a settled message with the outcome of each copy. */
  #appendToAll(
    message: NewMessage,
    { agents, partial }: NonNullable<NewMessage['copies']>,
    inbox: Inbox,
    now: number,
  ): Appended {
    const repeat = this.#messages.reader.withId(message.id, inbox.name, message.sender);
    if (repeat)
      return repeat.group?.sent
        ? { result: 'duplicate', sent: repeat.group.sent }
        : { result: 'id_conflict' };
    const size = sizeOf(message);
    const copy: NewMessage = { ...message, copies: undefined, group: { copyOf: inbox.name } };
    const accepted: Inbox[] = [];
    const refused: { agent: string; code: string }[] = [];
    let had = 0;
    for (const agent of agents) {
      const one = { ...copy, inbox: agent };
      const place = this.#messages.inbox(agent);
      const known = this.#repeatOf(place, one);
      const refusal = known
        ? ({ result: known } as const)
        : this.#refusalOf(one, size, place, accepted.length);
      if (refusal === undefined) accepted.push(place);
      else if (refusal.result === 'duplicate') had++;
      else if (partial) refused.push({ agent, code: refusal.result });
      else return { ...refusal, recipient: agent };
    }
    const room = accepted.length * (size + messageOverheadBytes);
    if (!this.#hasRoom(room, message.quota === undefined)) return { result: 'storage_full' };
    const sent = { members: accepted.length + had, refused };
    const isCounted = message.quota !== undefined;
    const copies = accepted.map((place) => ({
      inbox: place.name,
      seq: this.#put({ ...copy, inbox: place.name }, size, place, isCounted),
    }));
    const { scheduledAt, createdAt } = message;
    const own = {
      copies: undefined,
      openUntil: undefined,
      body: undefined,
      createdAt: scheduledAt ?? createdAt,
    };
    const note = { ...message, ...own, group: { sent } };
    const seq = this.#add(note, 0, inbox, false);
    const outcome = `stored for ${sent.members} members${refused.length > 0 ? `, refused for ${refused.length}` : ''}`;
    this.#messages.settle(inbox.name, seq, now, 'acked', outcome);
    return scheduledAt === undefined
      ? { result: 'stored', seq, sent, copies }
      : { result: 'scheduled', sent };
  }

  /** Appends the final reply to a request, if the request is open. The request is marked as answered in the same transaction. */
  #appendReply(message: NewMessage, now: number): Appended {
    const inbox = this.#messages.inbox(message.inbox);
    const repeat = this.#messages.reader.repeatOf(inbox, message);
    if (repeat === 'duplicate') {
      this.#settleWith(message, now);
      return { result: repeat };
    }
    const { settles } = message;
    const key = requestKeyOf(message);
    const request = this.#messages.requests.find(key, settles);
    if (!request) return { result: 'no_request' };
    if (!request.isOpen) {
      this.#settleWith(message, now);
      const { seq, isPending } = request;
      const isAcked = isPending && this.#settle(request.inbox, seq, now, 'acked', null);
      return { result: 'already_answered', ...(isAcked && { acked: { inbox: request.inbox, seq } }) };
    }
    const { thread, message: asked } = request;
    // Only the address that asked waits for the reply.
    const address = asked?.shared.senderAddress ?? message.inbox;
    if (address !== message.inbox) return { result: 'other_address', address };
    const reply = thread === message.thread ? message : { ...message, thread };
    const added: Appended = repeat ? { result: repeat } : this.#appendNew(reply, inbox);
    const appended = thread === undefined || repeat ? added : { ...added, thread };
    if (!isHere(appended)) return appended;
    if (appended.result === 'stored') {
      if (message.asked !== undefined && asked && request.isPending) {
        const metadata = storedMetadataOf(asked);
        const isAcked = this.#messages.settle(request.inbox, request.seq, now, 'acked', null, true);
        return isAcked ? { ...appended, request: metadata } : appended;
      }
      if (settles?.seq === request.seq && settles.inbox === request.inbox && request.isPending) {
        this.#messages.settle(settles.inbox, settles.seq, now, 'acked', null, true);
        return appended;
      }
      this.#messages.setAnswered(key, request);
    }
    this.#settleWith(message, now);
    return appended;
  }

  #settleWith({ settles }: NewMessage, now: number): void {
    if (settles) this.#settle(settles.inbox, settles.seq, now, 'acked', null);
  }

  #appendNew(message: NewMessage, inbox: Inbox): Appended {
    const size = sizeOf(message);
    const isCounted = message.quota !== undefined;
    const refusal = this.#refusalOf(message, size, inbox, 0);
    if (refusal) return refusal;
    const seq = this.#put(message, size, inbox, isCounted);
    return message.scheduledAt === undefined ? { result: 'stored', seq } : { result: 'scheduled' };
  }

  /**
   * Returns the reason why a message can't be added, if there is one. `more` counts further messages of the same size that its sender has
   * added.
   */
  #refusalOf(message: NewMessage, size: number, inbox: Inbox, more: number): Refused | undefined {
    const excess = this.#excess(message, size, inbox, more);
    if (excess) return { result: 'quota_exceeded', ...excess };
    const refusal = this.#refusal(inbox, size, message.quota === undefined);
    return refusal && { result: refusal };
  }

  /** Returns the cap of its sender or its recipient that a message exceeds, if there is one. */
  #excess({ quota, sender }: NewMessage, size: number, { agent }: Inbox, more: number): Excess | undefined {
    const usage = this.#usage;
    const own = quota && usage.sentTo(sender, agent);
    if (quota) {
      const inAll = unitExceeded(withMore(usage.sent(sender), more, size), size, quota.sender);
      if (inAll) return { of: 'sender', unit: inAll };
      const atAgent = unitExceeded(own, size, quota.senderToRecipient);
      if (atAgent) return { of: 'senderToRecipient', unit: atAgent };
    }
    const { recipient, privilegedRecipient } = quota ? this.#ordinaryCaps : this.#caps;
    const received = usage.received(agent);
    const excess = receivingExcess('recipient', recipient, received, own, size);
    if (!excess || !this.#isPrivileged(agent)) return excess;
    return receivingExcess('privilegedRecipient', privilegedRecipient, received, own, size);
  }

  /** Puts a message into its inbox, or among the scheduled messages. */
  #put(message: NewMessage, size: number, inbox: Inbox, isCounted: boolean): number {
    if (message.scheduledAt === undefined) return this.#add(message, size, inbox, isCounted);
    const number = this.#sequence.next();
    this.#scheduled.add(number, message, size, isCounted);
    this.#useRoom(size);
    return number;
  }

  #add(message: NewMessage, size: number, inbox: Inbox, isCounted: boolean): number {
    const seq = this.#sequence.next();
    this.#messages.put(seq, inbox, message, size, isCounted);
    this.#useRoom(size);
    return seq;
  }

  #useRoom(size: number): void {
    this.#room -= size + messageOverheadBytes;
    this.#roomWithReserve -= size + messageOverheadBytes;
    this.#unsaved += size + messageOverheadBytes;
  }

  #refusal(inbox: Inbox, size: number, mayUseReserve: boolean): 'inbox_full' | 'storage_full' | undefined {
    if (this.#isFull(inbox, size, mayUseReserve)) return 'inbox_full';
    return this.#hasRoom(size + messageOverheadBytes, mayUseReserve) ? undefined : 'storage_full';
  }

  #isFull(inbox: Inbox, size: number, mayUseReserve: boolean): boolean {
    const caps = mayUseReserve ? this.#caps : this.#ordinaryCaps;
    if (this.#scheduled.count === 0) return unitExceeded(inbox, size, caps.inbox) !== undefined;
    const { messages, bytes } = this.#scheduled.amount(inbox.name);
    const all = { messages: inbox.messages + messages, bytes: inbox.bytes + bytes };
    return unitExceeded(all, size, caps.inbox) !== undefined;
  }

  #hasRoom(bytes: number, mayUseReserve: boolean): boolean {
    if (bytes <= this.#roomFor(mayUseReserve)) return true;
    this.#measureRoom();
    if (bytes <= this.#roomFor(mayUseReserve)) return true;
    // The commit log still holds the bodies of messages that were settled lately.
    this.#messages.compactAll();
    this.#measureRoom();
    return bytes <= this.#roomFor(mayUseReserve);
  }

  #roomFor(mayUseReserve: boolean): number {
    return mayUseReserve ? this.#roomWithReserve : this.#room;
  }

  #measureRoom(): void {
    const { bytes, reservePercent } = this.#caps.store;
    const used = this.#usedBytes() + this.#unsaved;
    this.#room = Math.min(withoutReserve(bytes, reservePercent) - used, trustedBytes);
    this.#roomWithReserve = Math.min(bytes - used, trustedBytes);
  }

  /** Settles a message. Returns false if it was not pending. */
  #settle(inbox: string, seq: number, now: number, outcome: Outcome, reason: string | null): boolean {
    if (outcome === 'dead') {
      const message = this.#messages.reader.get(inbox, seq);
      if (message) this.#dead.add(message, reason, now);
    }
    return this.#messages.settle(inbox, seq, now, outcome, reason);
  }

  /**
   * Stores a notice. Notices are small, and there are at most as many as settled messages, so the cap on everything that is stored does not
   * apply.
   */
  #notify(notice: NewMessage): void {
    const inbox = this.#messages.inbox(notice.inbox);
    const size = sizeOf(notice);
    if (this.#isFull(inbox, size, true) || this.#excess(notice, size, inbox, 0)) return;
    if (!this.#messages.reader.repeatOf(inbox, notice)) this.#add(notice, size, inbox, false);
  }
}

/** A refusal because of any lack of room. */
type Refused = Extract<Appended, { result: 'quota_exceeded' | 'inbox_full' | 'storage_full' }>;

function withMore(
  amount: Readonly<Amount> | undefined,
  more: number,
  size: number,
): Readonly<Amount> | undefined {
  if (more === 0) return amount;
  return { messages: (amount?.messages ?? 0) + more, bytes: (amount?.bytes ?? 0) + more * size };
}

function sizeOf({ body }: NewMessage): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

/** Returns the key of the request that a reply names. */
export function requestKeyOf(reply: NewMessage): RequestKey {
  const { answers = '', answersIn, asked, correlationId = '', sender, senderAddress } = reply;
  const of = { requester: answers, id: correlationId };
  if (asked !== undefined) return { ...of, replier: asked, replierAddress: asked };
  return { ...of, replier: sender, replierAddress: senderAddress, groups: answersIn };
}

/** Tells whether the store has the message, or one with its id, now. */
function isHere({ result }: Appended): boolean {
  return result === 'stored' || result === 'duplicate' || result === 'id_conflict';
}
