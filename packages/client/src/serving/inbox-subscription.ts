import type { SignalboxError, SubscribedFrame } from '@signalbox/protocol';
import type { Log, SubscribeOptions } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { BrokerCalls } from '../requests/broker-calls.ts';
import type { DeadlineTable } from '../requests/deadline-table.ts';
import { refusalDelayMs } from '../socket/backoff.ts';

/** The time in which a member of a group must settle or renew a message. */
export const defaultAckDeadlineMs = 60_000;

export interface InboxSubscriptionDeps {
  calls: BrokerCalls;
  deadlines: DeadlineTable;
  clock: Clock;
  log: Log;
  /** Called when messages must not be sent, because their replies would come before the subscription. */
  onPending(): void;
  /** Called when messages may be sent again, also after a refusal: deliveries need no inbox. */
  onSettled(): void;
  /** Called when the broker refuses the subscription for good: no reply can come. */
  onRefused(error: SignalboxError): void;
  /** Called when the broker does not let a member of a group join again after a reconnect. */
  onExpelled(error: SignalboxError): void;
}

/**
 * The client's one subscription, to its own inbox or to a group. The first request or serve loop asks for it, and it is renewed after each
 * reconnect.
 */
export class InboxSubscription {
  readonly #deps: InboxSubscriptionDeps;
  #wanted: SubscribeOptions | undefined;
  #current: SubscribedFrame | undefined;
  #waiting: PromiseWithResolvers<SubscribedFrame>[] = [];
  #connected = false;
  /** Numbers the `subscribe` frames: only the answer to the newest one counts. */
  #newestAsk = 0;
  #refusals = 0;
  #wasGranted = false;
  #epoch = 0;

  constructor(deps: InboxSubscriptionDeps) {
    this.#deps = deps;
  }

  /** A number that changes with each lease and each lost connection: a `seq` counts only in the epoch in which it came. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * Whether a message of this subscription waited in the inbox when the subscription began. Another consumer may have had it, and this
   * client too, before a lost connection or in an earlier process.
   */
  waitedBefore(seq: number): boolean {
    return this.#current === undefined || seq <= this.#current.head_seq;
  }

  /** The epoch of the journal to which the inbox is bound, if it is bound to one. */
  get journalEpoch(): string | undefined {
    return this.#current?.journal?.epoch;
  }

  /** The group whose messages the client takes. `undefined` if it subscribes to its own inbox, or to none. */
  get group(): string | undefined {
    return this.#wanted?.group;
  }

  /** Asks for a subscription, unless there is one or one was asked for. */
  want(): void {
    if (this.#wanted === undefined) this.#change({});
  }

  /** Resolves when there is a subscription with these options; an option that is left out may have any value. Rejects if refused. */
  ensure(options: SubscribeOptions): Promise<SubscribedFrame> {
    const wanted = this.#wanted;
    if (wanted === undefined || !covers(wanted, options)) this.#change({ ...wanted, ...options });
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    const waiting = Promise.withResolvers<SubscribedFrame>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  /** Asks for the subscription on a new connection. Returns true if messages must wait for `onSettled`. */
  connected(): boolean {
    this.#connected = true;
    if (this.#wanted === undefined) return false;
    this.#ask(this.#wanted);
    return true;
  }

  /** Handles each `subscribed` frame, also the answer to a call that a newer one has overtaken. */
  answered(frame: SubscribedFrame): void {
    this.#wanted?.onSubscribed?.(frame);
  }

  /** The lease is lost with the connection; it is asked for again on the next one. */
  disconnected(): void {
    this.#connected = false;
    this.#current = undefined;
    this.#epoch++;
    this.#newestAsk++;
  }

  /** Asks again after the lease was lost. */
  leaseLost(): void {
    this.#current = undefined;
    this.#epoch++;
    if (this.#connected && this.#wanted !== undefined) this.#ask(this.#wanted);
  }

  /** Rejects all waits for a subscription, because the client is closed. */
  endAll(error: SignalboxError): void {
    this.#connected = false;
    this.#current = undefined;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #change(options: SubscribeOptions): void {
    // A member that joins its group again keeps its messages.
    if (options.group === undefined || options.group !== this.#wanted?.group) this.#epoch++;
    this.#wanted = options;
    this.#current = undefined;
    if (this.#connected) this.#ask(options);
  }

  #ask(options: SubscribeOptions): void {
    const ask = ++this.#newestAsk;
    this.#deps.onPending();
    const { group, ackDeadlineMs = defaultAckDeadlineMs, window, windowBytes, consumerId } = options;
    const journal = options.claimJournal?.();
    this.#deps.calls
      .call({
        type: 'subscribe',
        ...(group !== undefined && { address: group, shared: true, ack_deadline_ms: ackDeadlineMs }),
        ...(window !== undefined && { window }),
        ...(windowBytes !== undefined && { window_bytes: windowBytes }),
        ...(consumerId !== undefined && { consumer_id: consumerId }),
        ...(journal && { journal }),
      })
      .then(
        (frame) => this.#subscribed(ask, frame),
        (error: SignalboxError) => this.#refused(ask, error),
      );
  }

  #subscribed(ask: number, frame: SubscribedFrame): void {
    if (ask !== this.#newestAsk) return;
    this.#refusals = 0;
    this.#wasGranted = true;
    this.#current = frame;
    this.#deps.log({ event: 'subscribed', pending: frame.pending });
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(frame);
    this.#deps.onSettled();
  }

  #refused(ask: number, error: SignalboxError): void {
    if (ask !== this.#newestAsk || !this.#connected) return;
    this.#deps.log({ event: 'subscribe_refused', code: error.code, message: error.message });
    if (error.retryable) {
      const { deadlines, clock } = this.#deps;
      const delayMs = refusalDelayMs(error, this.#refusals++, clock.random());
      deadlines.add(clock.now() + delayMs, () => {
        if (ask === this.#newestAsk && this.#wanted !== undefined) this.#ask(this.#wanted);
      });
      return;
    }
    if (this.#wasGranted && this.group !== undefined) {
      this.#deps.onExpelled(error);
      return;
    }
    this.#wanted = undefined;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
    this.#deps.onRefused(error);
    this.#deps.onSettled();
  }
}

function covers(wanted: SubscribeOptions, options: SubscribeOptions): boolean {
  return (Object.keys(options) as (keyof SubscribeOptions)[]).every(
    (key) => options[key] === undefined || options[key] === wanted[key],
  );
}
