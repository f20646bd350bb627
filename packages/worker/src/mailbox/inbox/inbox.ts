import type { BrokerClient, CancelSignal, Log, Subscription } from '@signalbox/client';
import { requireFreeInbox } from '@signalbox/client/internal';
import { type Message, messageOf, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import type { MainConnection } from '../main-connection.ts';
import { type CheckedOutMessage, CheckedOutMessages, hasExpiredUnread } from './checked-out-messages.ts';
import { markShown } from './mark-shown.ts';
import { received } from './received.ts';

/** The most messages that are delivered and not acked; the broker keeps the rest. */
export const inboxWindow = 64;

/** The longest wait for messages that the broker has, in milliseconds. It delivers them at once, unless the window is full. */
const arrivalMs = 1_000;
/** The longest wait for the lease on the inbox, in milliseconds. */
const takeMs = 40_000;

export interface InboxDeps {
  main: MainConnection;
  /** Names the process that reads the inbox, if it ends with its agent. */
  consumerId: string | undefined;
  /** Makes a span of each message that is read. */
  tracing: Tracing | undefined;
  log: Log;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The agent's own inbox. It is held from the first read on; a read after a loss takes it again. */
export class Inbox {
  readonly checkedOut = new CheckedOutMessages();
  readonly #deps: InboxDeps;
  readonly #stop = new AbortController();
  #leasing: Promise<BrokerClient> | undefined;
  #isLeased = false;
  /** The calls that wait for the next message. */
  readonly #waiters = new Set<PromiseWithResolvers<void>>();

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** True if the broker delivers messages to this process now. */
  get isLeased(): boolean {
    return this.#isLeased;
  }

  /**
   * Takes the inbox, unless it is held already, and returns the connection that holds it. With `takesOver` it also takes it from another
   * process of the agent. Throws `SignalboxError`.
   */
  async lease(signal: CancelSignal, takesOver = false): Promise<BrokerClient> {
    this.#leasing ??= this.#take(takesOver).catch((thrown) => {
      this.#leasing = undefined;
      throw thrown;
    });
    const client = await within(this.#leasing, takeMs, signal);
    if (client !== late) return client;
    throw new SignalboxError('timed_out', 'the broker did not hand the inbox over', {
      retryable: true,
    });
  }

  /**
   * Waits for the messages that the broker has, as far as the window allows. Returns whether there are more, and how many are held back
   * until a hold ends.
   */
  async fill(signal: CancelSignal): Promise<{ hasMore: boolean; heldBack: number }> {
    const client = await this.lease(signal);
    const deadline = this.#deps.now() + arrivalMs;
    for (;;) {
      const after = this.checkedOut.highestLiveSeq;
      let heldBack = 0;
      const onHeldBack = (messages: number): void => {
        heldBack = messages;
      };
      const [next] = await client.peek({ address: client.agent, after, limit: 1, onHeldBack });
      if (!next) return { hasMore: false, heldBack };
      if (this.checkedOut.highestLiveSeq > after) continue;
      const left = deadline - this.#deps.now();
      const isFull = this.checkedOut.liveCount >= inboxWindow;
      if (isFull || left <= 0 || (await this.arrival(left, signal)) === late)
        return { hasMore: true, heldBack };
    }
  }

  /** Returns the waiting messages that were never shown, in order. */
  fresh(): CheckedOutMessage[] {
    return this.waiting().filter(({ shownBy }) => shownBy === undefined);
  }

  /** Resolves shortly after the next message has come, or to `late` after `waitMs`. Throws the reason if the inbox is lost. */
  async arrival(waitMs: number, signal: CancelSignal): Promise<typeof late | undefined> {
    // Registered first, so that no message from here on is missed.
    const waiter = Promise.withResolvers<void>();
    this.#waiters.add(waiter);
    waiter.promise.catch(() => {});
    try {
      await this.lease(signal);
      if ((await within(waiter.promise, waitMs, signal)) === late) return late;
    } finally {
      this.#waiters.delete(waiter);
    }
    // One turn of the event loop later the messages that came with it have been received, too.
    await new Promise((resolve) => setImmediate(resolve));
    return undefined;
  }

  /** Acks messages. Returns how many of these acks could not reach the broker yet. */
  async ack(done: readonly CheckedOutMessage[], signal: CancelSignal): Promise<{ pending: number }> {
    if (done.length === 0) return { pending: 0 };
    const client = await this.lease(signal);
    for (const mail of done) mail.isDone = true;
    const { accepted } = await client.ack(done.map(({ seq }) => seq));
    this.checkedOut.remove(accepted);
    return { pending: done.length - accepted.length };
  }

  /** Marks messages as returned by a read: losing them counts as an attempt from now on. */
  async shown(messages: readonly CheckedOutMessage[], read: number, signal: CancelSignal): Promise<void> {
    const client = await this.lease(signal);
    const { tracing, now } = this.#deps;
    markShown(client, messages, { read, now: now(), tracing });
  }

  /** Stops taking the inbox. The owner closes the connection. */
  close(): void {
    this.#stop.abort();
  }

  /** Returns the waiting messages in order. Requests that expired unread are acked and left out. */
  waiting(): CheckedOutMessage[] {
    const { now, log } = this.#deps;
    const expired = this.checkedOut.waiting().filter((mail) => hasExpiredUnread(mail, now()));
    this.ack(expired, this.#stop.signal).catch((thrown) => {
      log({ event: 'inbox_ack_failed', reason: messageOf(thrown) });
    });
    return this.checkedOut.waiting().filter((mail) => !expired.includes(mail));
  }

  async #take(takesOver: boolean): Promise<BrokerClient> {
    const { main, consumerId } = this.#deps;
    const client = await main.client(this.#stop.signal);
    if (!takesOver) await requireFreeInbox(client);
    const subscription = await client.subscribe({
      window: inboxWindow,
      ...(consumerId !== undefined && { consumerId }),
      onSubscribed: () => this.checkedOut.leaseEnded(),
    });
    this.#isLeased = true;
    void this.#receiveAll(client, subscription).then((lost) => {
      this.#isLeased = false;
      this.#leasing = undefined;
      this.checkedOut.leaseEnded();
      for (const waiter of this.#waiters) waiter.reject(lost);
    });
    return client;
  }

  /** Receives messages. Resolves when the lease is lost, with the reason: `taken_over`, or why the connection ended. */
  async #receiveAll(client: BrokerClient, { messages }: Subscription): Promise<unknown> {
    try {
      for await (const message of messages) {
        this.#receive(client, message);
        for (const waiter of this.#waiters) waiter.resolve();
      }
      return new SignalboxError('closed', 'the mailbox was closed');
    } catch (thrown) {
      return thrown;
    }
  }

  #receive(client: BrokerClient, message: Message): void {
    const { now, log, tracing } = this.#deps;
    const arrival = received(client, message, { now: now(), log });
    if (!arrival) return;
    const { seq } = arrival;
    const mail = this.checkedOut.add(arrival);
    if (mail.isDone) {
      void client.ack([seq]).then(
        ({ accepted }) => this.checkedOut.remove(accepted),
        () => {},
      );
    } else if (mail.shownBy !== undefined) {
      client.working([seq], tracing && mail.traceparent);
    }
  }
}
