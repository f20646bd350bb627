import type { Amount, NewMessage, Outcome, RequestKey } from '@signalbox/store';
import {
  agentOf,
  type BatchMessages,
  type CountedInbox,
  type ForgottenRequest,
  type FoundRequest,
  findRequest,
  type LoggedMessage,
  type RequestSource,
  repeatOf,
  sharedFieldsOf,
  withTaker,
} from '@signalbox/store/rules';
import type { Counts } from './counts.ts';

/** The place of a message's row: none yet, among the pending ones, or in the slice with this number. */
type Place = 'new' | 'pending' | number;

/** A message of a transaction. */
export interface WorkingMessage extends LoggedMessage {
  readonly place: Place;
  /** True if its attempts or takers were changed, or if it was answered while it is pending. */
  isChanged: boolean;
  /** True if this transaction marks it as cancelled. */
  isCancelled?: boolean;
  /** True if it was settled by this transaction. */
  isSettled: boolean;
  /** The highest number of an earlier message of its inbox. Only new messages have it. */
  readonly after?: number;
  /** Present if a broker has or had the message of a shared inbox. */
  readonly claim?: Claim | undefined;
}

/** A message of a shared inbox that was handed out, with the broker that has it now, if one does. */
export interface Claim {
  readonly holder: Holder | undefined;
}

/** An inbox of a transaction, with the counts of its row and of what the transaction changed. */
export interface WorkingInbox extends CountedInbox {
  messages: number;
  bytes: number;
  readonly scheduled: Amount;
  /** The highest number of a message of the inbox. */
  headSeq: number;
  /** The broker that holds it, if one does. */
  readonly holder: Holder | undefined;
  /** The brokers that share it; none if it is not shared. */
  readonly members: readonly Holder[];
  /** The highest number of a message that any holder has handed out. */
  readonly takenSeq: number;
  /** The counts of its row, before the transaction. */
  readonly before: {
    readonly messages: number;
    readonly bytes: number;
    readonly scheduled: Readonly<Amount>;
    readonly headSeq: number;
  };
}

/** The brokers that hold or share an inbox, and the number up to which others may have handed out its messages. */
export type Holders = Pick<WorkingInbox, 'holder' | 'members' | 'takenSeq'>;

/** The broker that holds an inbox or has a message: this one, or another one with its incarnation. */
export type Holder = { isThis: true } | { isThis: false; incarnation: number };

/**
 * The messages that one transaction needs: the loaded ones and those that it adds. The rules of batches treat it like a whole store.
 * Afterwards it knows what has changed.
 */
export class WorkingSet implements BatchMessages<WorkingInbox>, RequestSource {
  readonly reader = this;
  readonly requests = {
    find: (key: RequestKey, settles?: { inbox: string; seq: number }): FoundRequest | undefined =>
      findRequest(this, key, settles, this.#now),
  };
  /** Inboxes of other brokers of which a change was left out. */
  readonly fenced = new Set<string>();
  /** Forgotten requests that were answered. */
  readonly closed = new Set<number>();
  readonly #counts: Counts;
  readonly #now: () => number;
  readonly #inboxes = new Map<string, WorkingInbox>();
  readonly #bySeq = new Map<number, WorkingMessage>();
  readonly #byId = new Map<string, WorkingMessage[]>();
  readonly #forgotten = new Map<string, ForgottenRequest>();

  constructor(counts: Counts, now: () => number) {
    this.#counts = counts;
    this.#now = now;
  }

  loadInbox(
    name: string,
    counts: Pick<WorkingInbox, 'messages' | 'bytes' | 'scheduled' | 'headSeq'>,
    holders: Holders,
  ): void {
    const before = { ...counts, scheduled: { ...counts.scheduled } };
    this.#inboxes.set(name, { name, agent: agentOf(name), ...counts, ...holders, before });
  }

  /** Adds a message that was read. The same one may be read twice: with its body, and without. */
  load(message: LoggedMessage, place: Exclude<Place, 'new'>, hasBody: boolean, claim?: Claim): void {
    const known = this.#bySeq.get(message.seq);
    if (known) {
      if (hasBody) known.body = message.body;
      return;
    }
    this.#include({ ...message, place, isChanged: false, isSettled: false, claim });
  }

  loadForgotten(requester: string, id: string, inbox: string, request: ForgottenRequest): void {
    this.#forgotten.set(idKey(inbox, id, requester), request);
  }

  /** Returns the loaded and the added messages; the added ones are in the order of their sequence numbers. */
  messages(): Iterable<WorkingMessage> {
    return this.#bySeq.values();
  }

  inboxes(): Iterable<WorkingInbox> {
    return this.#inboxes.values();
  }

  /** Returns an inbox. An inbox without a row is empty. */
  inbox(name: string): WorkingInbox {
    const known = this.#inboxes.get(name);
    if (known) return known;
    const scheduled = { messages: 0, bytes: 0 };
    this.loadInbox(
      name,
      { messages: 0, bytes: 0, scheduled, headSeq: 0 },
      { holder: undefined, members: [], takenSeq: 0 },
    );
    return this.#inboxes.get(name)!;
  }

  get(inbox: string, seq: number): WorkingMessage | undefined {
    const message = this.#bySeq.get(seq);
    return message?.shared.inbox === inbox && message.ending === undefined ? message : undefined;
  }

  repeatOf(inbox: WorkingInbox, message: NewMessage): 'duplicate' | 'id_conflict' | undefined {
    return repeatOf(this.withId(message.id, inbox.name, message.sender), message);
  }

  isPending(inbox: WorkingInbox, id: string, sender: string): boolean {
    const found = this.withId(id, inbox.name, sender);
    return found !== undefined && found.ending === undefined;
  }

  withId(id: string, inbox: string, sender: string): WorkingMessage | undefined {
    let newest: WorkingMessage | undefined;
    for (const message of this.#byId.get(idKey(inbox, id, sender)) ?? []) {
      if (message.ending === undefined) return message;
      if (newest === undefined || message.seq > newest.seq) newest = message;
    }
    return newest;
  }

  forgotten(requester: string, id: string, inbox: string): ForgottenRequest | undefined {
    return this.#forgotten.get(idKey(inbox, id, requester));
  }

  takersOf({ takers = [] }: LoggedMessage): readonly string[] {
    return takers;
  }

  /** Returns false: a row of a slice itself shows whether its request was answered. */
  wasAnsweredLater(): boolean {
    return false;
  }

  put(seq: number, inbox: WorkingInbox, message: NewMessage, size: number, isCounted: boolean): void {
    const shared = sharedFieldsOf(message, undefined, isCounted);
    const { id, correlationId, traceparent, group, thread, body } = message;
    const content = { seq, shared, id, correlationId, traceparent, group, thread, size, body };
    this.#include({
      ...content,
      attempts: 0,
      answered: false,
      takers: undefined,
      ending: undefined,
      place: 'new',
      isChanged: false,
      isSettled: false,
      after: inbox.headSeq,
    });
    inbox.headSeq = seq;
    this.#count(inbox, shared, 1, size);
  }

  settle(
    name: string,
    seq: number,
    at: number,
    outcome: Outcome,
    reason: string | null,
    isAnswered = false,
  ): boolean {
    const message = this.get(name, seq);
    if (!message) return false;
    if (isAnswered) message.answered = true;
    if (this.#isFenced(message)) {
      message.isChanged ||= isAnswered;
      return false;
    }
    message.ending = { at, outcome, reason };
    message.isSettled = true;
    this.#count(this.inbox(name), message.shared, -1, -message.size);
    return true;
  }

  setTaken(inbox: string, seq: number, agent: string): void {
    const message = this.get(inbox, seq);
    if (!message || this.#isFenced(message) || message.takers?.includes(agent)) return;
    message.takers = withTaker(message.takers, agent);
    message.isChanged = true;
  }

  setAttempts(inbox: string, seq: number, attempts: number): void {
    const message = this.get(inbox, seq);
    if (!message || this.#isFenced(message)) return;
    message.attempts = attempts;
    message.isChanged = true;
  }

  setAnswered(_key: RequestKey, { seq, message }: FoundRequest): void {
    const known = message && this.#bySeq.get(seq);
    if (!known) this.closed.add(seq);
    else {
      known.answered = true;
      known.isChanged = true;
    }
  }

  setCancelled(inbox: string, seq: number): void {
    const message = this.get(inbox, seq);
    if (message?.place !== 'pending') return;
    message.isCancelled = true;
    message.isChanged = true;
  }

  mayBeHandedOut(inbox: string, seq: number, isKnown: boolean): boolean {
    const message = this.get(inbox, seq);
    if (!message || message.claim) return true;
    const { holder, takenSeq } = this.inbox(inbox);
    return holder?.isThis ? !isKnown : message.place === 'pending' && seq <= takenSeq;
  }

  /** Does nothing: settled messages take no room. */
  compactAll(): void {}

  /** Does nothing: the caller writes the changes. */
  save(): void {}

  /** Returns the highest number of a message before a new one in its inbox, if this broker holds the inbox. */
  placeOf(seq: number): { after: number; isLeasedElsewhere?: true } {
    const message = this.#bySeq.get(seq);
    const { holder, members = [] } = message ? this.inbox(message.shared.inbox) : {};
    if (holder?.isThis) return { after: message?.after ?? 0 };
    const isLeasedElsewhere = [holder, ...members].some((one) => one?.isThis === false);
    return { after: Number.POSITIVE_INFINITY, ...(isLeasedElsewhere && { isLeasedElsewhere }) };
  }

  /**
   * Tells whether only another broker may decide about a message: it has claimed the message, or holds the inbox and may have handed it
   * out.
   */
  #isFenced({ place, shared: { inbox }, claim }: WorkingMessage): boolean {
    const { holder, members } = this.inbox(inbox);
    const by = members.length > 0 ? claim?.holder : holder;
    if (place !== 'pending' || !by || by.isThis) return false;
    if (by === holder) this.fenced.add(inbox);
    return true;
  }

  #include(message: WorkingMessage): void {
    this.#bySeq.set(message.seq, message);
    const key = idKey(message.shared.inbox, message.id, message.shared.sender);
    const known = this.#byId.get(key);
    if (known) known.push(message);
    else this.#byId.set(key, [message]);
  }

  #count(
    inbox: WorkingInbox,
    counted: { sender: string; isCounted: boolean },
    messages: number,
    bytes: number,
  ): void {
    inbox.messages += messages;
    inbox.bytes += bytes;
    this.#counts.countWaiting(inbox.agent, counted, messages, bytes);
  }
}

/** Returns the key of an id. Ids, and names of agents and inboxes, have no space. */
function idKey(inbox: string, id: string, sender: string): string {
  return `${inbox} ${id} ${sender}`;
}
