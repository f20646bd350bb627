import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  BrokerClient,
  CancelSignal,
  DeliverCallOptions,
  Log,
  Outgoing,
  Subscription,
} from '@signalbox/client';
import { type Message, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import type { InboxCursors } from '../inbox/inbox-cursors.ts';
import { type InboxMessage, inboxMessage } from '../inbox/inbox-message.ts';
import { markShown } from '../inbox/mark-shown.ts';
import { received } from '../inbox/received.ts';
import { checkoutMs, type GroupCheckout, GroupCheckouts } from './group-checkouts.ts';

/** The most bytes of bodies that are held at a time; a larger message comes alone. A read returns everything that is held. */
export const checkedOutBytes = 48 * 1024;
/** The time to wait for the group, in milliseconds. */
const joinMs = 40_000;
/**
 * The time to wait for messages that no member has, in milliseconds. The broker hands them out at once, unless they wait for earlier ones
 * with the same key.
 */
const arrivalMs = 1_000;
/** The time to wait until the broker hands out nothing more, in milliseconds. */
const narrowMs = 5_000;
/** The number of the oldest messages among which one that no member has is looked for. */
const looksAt = 100;

/** The dependencies of a {@link GroupInbox}. `now` returns monotonic milliseconds, `wallNow` epoch milliseconds. */
export interface GroupInboxDeps {
  /** Opens a connection as a member. The group closes it. */
  connect: (signal: AbortSignal) => Promise<BrokerClient>;
  cursors: InboxCursors;
  /** Makes a span of each message that is read. */
  tracing: Tracing | undefined;
  now: () => number;
  wallNow: () => number;
  log: Log;
}

/** The bounds of one read of a group. */
export interface Wanted {
  /** The most messages that the agent holds at a time. */
  limit: number;
  /**
   * The longest wait in milliseconds for a message that no read has returned. If set, the read returns only messages that no read has
   * returned; without it, the read does not wait.
   */
  waitMs: number | undefined;
  /** See {@link GroupCheckout.session}. */
  session: string | undefined;
}

/** The messages that a read returns to the agent. */
export interface Taken {
  messages: InboxMessage[];
  /** Acks them. Absent if there are none. */
  cursor: string | undefined;
  /** True if the group has more messages that nobody works on. */
  hasMore: boolean;
  /** The number of the group's oldest messages that the agent does not get before a hold ends. */
  heldBack: number;
  /** The number of messages that the agent holds, these included. */
  unacked: number;
  /** The ids of messages that the agent no longer holds. Each id is reported once. */
  lost: string[];
}

type Rest = Pick<Taken, 'hasMore' | 'heldBack'>;

interface Membership {
  client: BrokerClient;
  subscription: Subscription;
}

/**
 * One group, as one agent takes its messages. The broker hands the agent messages only while a read asks for them, and the agent holds them
 * for a limited time. When the group is closed or its connection is lost, another member gets the messages that the agent held.
 */
export class GroupInbox implements AsyncDisposable {
  readonly group: string;
  readonly checkouts = new GroupCheckouts();
  readonly #deps: GroupInboxDeps;
  readonly #stop = new AbortController();
  #joining: Promise<Membership> | undefined;
  #member: Membership | undefined;
  /** The id of the lease in which the held messages came. */
  #lease: string | undefined;
  /** The reads that ask for messages now. */
  readonly #asking = new Set<Wanted>();
  /** The number of reads that run. */
  #reads = 0;
  readonly #waiters = new Set<PromiseWithResolvers<void>>();

  constructor(group: string, deps: GroupInboxDeps) {
    this.group = group;
    this.#deps = deps;
  }

  /** True if no read runs and no message is held, so that closing the group takes nothing from anyone. */
  get isIdle(): boolean {
    return this.#reads === 0 && this.checkedOut().length === 0;
  }

  /** Returns the messages that the agent holds, in order. */
  checkedOut(): GroupCheckout[] {
    return this.checkouts.live(this.#deps.now());
  }

  /** Takes messages, and returns those that the agent is shown. Rejects with `SignalboxError`. */
  async take(wanted: Wanted, signal: CancelSignal): Promise<Taken> {
    this.#reads++;
    try {
      const rest = await this.#gather(wanted, signal);
      return signal.aborted ? this.#taken([], undefined, rest) : this.#show(wanted, rest);
    } finally {
      this.#reads--;
      this.#giveBackUnseen();
    }
  }

  /** Returns the number of the read that returned a cursor, if the cursor belongs to this group. */
  readOf(cursor: string): number | undefined {
    return this.#deps.cursors.readOf(cursor);
  }

  /** Acks the messages that reads up to this one returned. `takenBack` counts the messages that the agent no longer held. */
  async ackUpTo(read: number): Promise<{ acked: number; takenBack: number }> {
    this.checkedOut();
    const done = this.checkouts.shownUpTo(read);
    const live = done.filter(({ isLive }) => isLive).map(({ seq }) => seq);
    const { accepted } = (await this.#member?.client.ack(live)) ?? { accepted: [] };
    this.checkouts.remove(done.map(({ seq }) => seq));
    return { acked: accepted.length, takenBack: done.length - accepted.length };
  }

  /** Sends a reply that settles a message. Returns false, and sends nothing, if the agent no longer holds the message. */
  async settle(checkout: GroupCheckout, reply: Outgoing, options: DeliverCallOptions): Promise<boolean> {
    this.checkedOut();
    const member = checkout.isLive ? this.#member : undefined;
    if (!member) return false;
    try {
      await member.client.deliver({ ...reply, settles: checkout.seq }, options);
      return true;
    } catch (thrown) {
      if (!isLostCheckout(thrown)) throw thrown;
      this.checkouts.lose([checkout]);
      return false;
    }
  }

  /** Gives back the messages that the reads of a session returned, because it has ended. */
  async release(session: string): Promise<void> {
    const live = this.checkedOut();
    const given = live.filter((checkout) => checkout.session === session);
    if (given.length === 0) return;
    this.checkouts.lose(given);
    this.checkouts.takeLost();
    const seqs = given.map(({ seq }) => seq);
    if (given.length === live.length && this.#reads === 0) await this.#leave();
    else {
      await this.#member?.client.nack(seqs, { reason: 'the session that read it has ended' });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#leave();
  }

  /** Makes the broker hand out messages until the agent holds enough. Returns whether there are more, and how many are held back. */
  async #gather(wanted: Wanted, signal: CancelSignal): Promise<Rest> {
    const member = await this.#join(signal);
    this.#asking.add(wanted);
    try {
      await within(this.#setWindow(member), joinMs, signal);
      const isThere = wanted.waitMs === undefined || (await this.#waitForFresh(wanted, signal));
      const until = this.#deps.now() + (isThere ? arrivalMs : 0);
      for (;;) {
        const rest = await this.#rest(member);
        const left = until - this.#deps.now();
        if (!rest.hasMore || this.checkedOut().length >= wanted.limit || left <= 0) return rest;
        if ((await this.#arrival(left, signal)) === late) return rest;
      }
    } finally {
      this.#asking.delete(wanted);
      await within(
        this.#setWindow(member).catch(() => {}),
        narrowMs,
      );
      // One turn of the event loop later the messages that came before the answer have been received, too.
      await nextTurn();
    }
  }

  /** Waits for a message that no read has returned. Returns whether there is one. */
  async #waitForFresh({ limit, waitMs = 0 }: Wanted, signal: CancelSignal): Promise<boolean> {
    const { now } = this.#deps;
    const until = now() + waitMs;
    while (this.checkouts.fresh(now()).length === 0) {
      if (this.checkedOut().length >= limit) return false;
      if ((await this.#arrival(Math.max(0, until - now()), signal)) === late) return false;
    }
    return true;
  }

  /** Resolves when the next message has come, or to `late` after `waitMs`. Throws the reason if the group is lost. */
  async #arrival(waitMs: number, signal: CancelSignal): Promise<typeof late | undefined> {
    const waiter = Promise.withResolvers<void>();
    this.#waiters.add(waiter);
    try {
      if ((await within(waiter.promise, waitMs, signal)) === late) return late;
    } finally {
      this.#waiters.delete(waiter);
    }
    return undefined;
  }

  /** Looks for messages of the group that nobody works on and this agent does not hold. */
  async #rest({ client }: Membership): Promise<Rest> {
    let heldBack = 0;
    const oldest = await client.peek({
      ...{ address: this.group, limit: looksAt, bodies: false },
      onHeldBack: (messages) => {
        heldBack = messages;
      },
    });
    const isFree = ({ seq, working }: (typeof oldest)[number]): boolean =>
      working !== true && !(seq !== undefined && this.checkouts.has(seq));
    return { hasMore: oldest.length === looksAt || oldest.some(isFree), heldBack };
  }

  /** Lets the broker hand out as many messages as the running reads ask for. */
  async #setWindow({ client, subscription }: Membership): Promise<void> {
    if (client.state.name === 'closed') return;
    await subscription.setWindow(Math.max(0, ...[...this.#asking].map(({ limit }) => limit)));
  }

  #show({ limit, waitMs, session }: Wanted, rest: Rest): Taken {
    const { cursors, now, wallNow, tracing } = this.#deps;
    const shown = waitMs === undefined ? this.checkedOut() : this.checkouts.fresh(now()).slice(0, limit);
    if (shown.length === 0 || !this.#member) return this.#taken([], undefined, rest);
    const messages = shown.map((checkout) => inboxMessage(checkout, now(), wallNow()));
    const { read, cursor } = cursors.next();
    for (const checkout of shown) checkout.session = session;
    markShown(this.#member.client, shown, { read, now: now(), tracing });
    return this.#taken(messages, cursor, rest);
  }

  #taken(messages: InboxMessage[], cursor: string | undefined, rest: Rest): Taken {
    return { messages, cursor, ...rest, unacked: this.checkedOut().length, lost: this.checkouts.takeLost() };
  }

  /** Gives back the messages that came for a read which ended without returning them. That counts as no attempt if nothing else is held. */
  #giveBackUnseen(): void {
    if (this.#reads > 0) return;
    const unseen = this.checkouts.fresh(this.#deps.now());
    if (unseen.length === 0) return;
    this.checkouts.lose(unseen);
    if (this.checkedOut().length === 0) void this.#leave();
    else {
      const seqs = unseen.map(({ seq }) => seq);
      const reason = 'the read that it was taken for was cancelled';
      void this.#member?.client.nack(seqs, { reason }).catch(() => {});
    }
  }

  async #join(signal: CancelSignal): Promise<Membership> {
    this.#joining ??= this.#open().catch((thrown) => {
      this.#joining = undefined;
      throw thrown;
    });
    const member = await within(this.#joining, joinMs, signal);
    if (member !== late) return member;
    throw new SignalboxError('timed_out', `the broker did not let the agent into ${this.group}`, {
      retryable: true,
    });
  }

  async #open(): Promise<Membership> {
    const client = await this.#deps.connect(this.#stop.signal);
    try {
      const subscription = await client.subscribe({
        group: this.group,
        ackDeadlineMs: checkoutMs,
        window: 0,
        windowBytes: checkedOutBytes,
        onSubscribed: ({ lease }) => this.#leased(lease),
      });
      const member = { client, subscription };
      this.#member = member;
      void this.#receiveAll(member).then((reason) => {
        if (this.#member === member) this.#lost(reason);
      });
      return member;
    } catch (thrown) {
      await client.close();
      throw joinFailure(thrown);
    }
  }

  /** A new lease comes after a lost connection: other members may have the messages of the last one. */
  #leased(lease: string): void {
    if (lease !== this.#lease) this.checkouts.loseAll();
    this.#lease = lease;
  }

  async #leave(): Promise<void> {
    const joining = this.#joining;
    this.#lost(new SignalboxError('closed', 'the mailbox was closed'));
    const member = await joining?.catch(() => undefined);
    await member?.client.close();
  }

  /** Records that the agent is no longer a member. */
  #lost(reason: unknown): void {
    this.#member = undefined;
    this.#joining = undefined;
    this.checkouts.loseAll();
    for (const waiter of this.#waiters) waiter.reject(reason);
  }

  /** Receives messages. Resolves when the connection has ended for good, with the reason. */
  async #receiveAll({ client, subscription }: Membership): Promise<unknown> {
    try {
      for await (const message of subscription.messages) this.#receive(client, message);
      return new SignalboxError('closed', 'the connection was closed');
    } catch (thrown) {
      return thrown;
    }
  }

  #receive(client: BrokerClient, message: Message): void {
    const { now, log } = this.#deps;
    const arrival = received(client, message, { now: now(), log });
    if (arrival) this.checkouts.add(arrival);
    this.#giveBackUnseen();
    for (const waiter of this.#waiters) waiter.resolve();
  }
}

/** Returns whether a reply was refused because the connection does not hold the message that it settles. */
function isLostCheckout(thrown: unknown): boolean {
  return thrown instanceof SignalboxError && thrown.code === 'no_lease';
}

/** The codes of a refused membership, for each code of the broker. */
const refusals: Readonly<Record<string, string>> = {
  forbidden: 'not_a_member',
  unknown_recipient: 'unknown_group',
};

function joinFailure(thrown: unknown): unknown {
  if (!(thrown instanceof SignalboxError) || !Object.hasOwn(refusals, thrown.code)) return thrown;
  return new SignalboxError(refusals[thrown.code]!, thrown.message, { cause: thrown });
}
