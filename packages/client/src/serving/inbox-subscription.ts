import type { SignalboxError, SubscribedFrame } from '@signalbox/protocol';
import type { Clock, Log } from '../clock.ts';
import type { DeadlineTable } from '../deadline-table.ts';
import type { BrokerCalls } from '../requests/broker-calls.ts';
import { refusalDelayMs } from '../requests/delivery-table.ts';

/** How much the broker may push ahead of acks. `window` in messages (default 64), `windowBytes` of bodies (8 MiB). */
export interface SubscribeOptions {
  window?: number;
  windowBytes?: number;
  /** Names the execution journal behind this inbox; `subscribed.same_journal` tells if it is the one of before. */
  journalId?: string;
  /** Called before each `subscribe` frame leaves. */
  onSubscribing?: () => void;
  /** Called with each answer to one, before any message of that subscription is handled. */
  onSubscribed?: (frame: SubscribedFrame) => void;
}

export interface InboxSubscriptionPorts {
  calls: BrokerCalls;
  deadlines: DeadlineTable;
  clock: Clock;
  log: Log;
  /** Work must wait: its answers would find nobody subscribed. */
  onPending(): void;
  /** Work may go (also after a refusal: deliveries don't need an inbox). */
  onSettled(): void;
  onRefused(error: SignalboxError): void;
}

/**
 * The client's one subscription, to its own address: asked for by the first request or serve loop, and again
 * after each reconnect.
 */
export class InboxSubscription {
  readonly #ports: InboxSubscriptionPorts;
  #wanted: SubscribeOptions | undefined;
  #current: SubscribedFrame | undefined;
  #waiting: PromiseWithResolvers<SubscribedFrame>[] = [];
  #connected = false;
  #asked = 0;
  #refusals = 0;
  #epoch = 0;

  constructor(ports: InboxSubscriptionPorts) {
    this.#ports = ports;
  }

  /** Changes with each lease and each lost connection: a `seq` counts only in the epoch it came in. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Makes sure there is, or will be, a subscription. */
  want(): void {
    if (this.#wanted === undefined) this.#change({});
  }

  /** Resolves when subscribed with these options (any will do for those not given); rejects if the broker refuses. */
  ensure(options: SubscribeOptions): Promise<SubscribedFrame> {
    const wanted = this.#wanted;
    if (wanted === undefined || !covers(wanted, options)) this.#change({ ...wanted, ...options });
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    const waiting = Promise.withResolvers<SubscribedFrame>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  /** Returns true if work must wait for `onSettled`. */
  connected(): boolean {
    this.#connected = true;
    if (this.#wanted === undefined) return false;
    this.#ask(this.#wanted);
    return true;
  }

  /** Told each `subscribed` frame, also that of a question which a newer one has overtaken. */
  answered(frame: SubscribedFrame): void {
    this.#wanted?.onSubscribed?.(frame);
  }

  disconnected(): void {
    this.#connected = false;
    this.#current = undefined;
    this.#epoch++;
    this.#asked++;
  }

  /** The lease ended for a reason that lets this client ask again. */
  leaseLost(): void {
    this.#current = undefined;
    this.#epoch++;
    if (this.#connected && this.#wanted !== undefined) this.#ask(this.#wanted);
  }

  endAll(error: SignalboxError): void {
    this.#connected = false;
    this.#current = undefined;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
  }

  #change(options: SubscribeOptions): void {
    this.#wanted = options;
    this.#current = undefined;
    this.#epoch++;
    if (this.#connected) this.#ask(options);
  }

  #ask(options: SubscribeOptions): void {
    const round = ++this.#asked;
    this.#ports.onPending();
    const { window, windowBytes, journalId } = options;
    options.onSubscribing?.();
    this.#ports.calls
      .call({
        type: 'subscribe',
        ...(window !== undefined && { window }),
        ...(windowBytes !== undefined && { window_bytes: windowBytes }),
        ...(journalId !== undefined && { journal_id: journalId }),
      })
      .then(
        (frame) => this.#subscribed(round, frame),
        (error: SignalboxError) => this.#refused(round, error),
      );
  }

  #subscribed(round: number, frame: SubscribedFrame): void {
    if (round !== this.#asked) return;
    this.#refusals = 0;
    this.#current = frame;
    this.#ports.log({ event: 'subscribed', pending: frame.pending });
    for (const waiting of this.#waiting.splice(0)) waiting.resolve(frame);
    this.#ports.onSettled();
  }

  #refused(round: number, error: SignalboxError): void {
    if (round !== this.#asked || !this.#connected) return;
    this.#ports.log({ event: 'subscribe_refused', code: error.code, message: error.message });
    if (error.retryable) {
      const { deadlines, clock } = this.#ports;
      const delayMs = refusalDelayMs(error, this.#refusals++, clock.random());
      deadlines.add(clock.now() + delayMs, () => {
        if (round === this.#asked && this.#wanted !== undefined) this.#ask(this.#wanted);
      });
      return;
    }
    this.#wanted = undefined;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error);
    this.#ports.onRefused(error);
    this.#ports.onSettled();
  }
}

function covers(wanted: SubscribeOptions, options: SubscribeOptions): boolean {
  return (Object.keys(options) as (keyof SubscribeOptions)[]).every(
    (key) => options[key] === undefined || options[key] === wanted[key],
  );
}
