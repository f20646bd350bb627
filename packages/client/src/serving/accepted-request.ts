import type { CancelSignal, Message } from '@signalbox/protocol';
import { abortSignalOf, Cancellation } from '@signalbox/protocol/internal';
import type { TracedSpan } from '@signalbox/serving/tracing';
import { validTraceparent } from '@signalbox/serving/tracing/internal';
import type { ServedRequest } from '../broker-client.ts';
import { clientError } from '../errors.ts';
import type { ServedLane } from '../lanes/served-lane.ts';
import type { Deadline } from '../requests/deadline-table.ts';

/** The parts of the runner that accepted requests use. */
export interface AcceptedRequestDeps {
  /** Monotonic milliseconds. */
  now: () => number;
  /** See `InboxSubscription.epoch`. */
  epoch: () => number;
  sendProgress: (request: AcceptedRequest, body: string) => void;
  sendWorking: (request: AcceptedRequest, how?: { atOnce: boolean }) => void;
}

/** The reason why a handler's signal was aborted. */
export type AbortCause = 'cancelled' | 'expired' | 'closed' | 'stopped';

/** One request that a runner has accepted: it waits, runs, or is answered and the reply has no receipt yet. */
export class AcceptedRequest implements ServedRequest {
  readonly key: string;
  readonly message: Message;
  readonly json: unknown;
  readonly deadline: number | undefined;
  /** The `seq` by which the request is acked, and the epoch in which that `seq` counts; both change when the request is redelivered. */
  seq: number | undefined;
  epoch: number;
  /** The lanes on which it came, as long as they are open; `undefined` if it came only through the broker. */
  lanes: ServedLane[] | undefined;
  /** True if it came through the broker, too, and was cancelled there. */
  isWithdrawn = false;
  /** The epoch in which the reply was sent with `settles`, so that no ack is needed. */
  settledIn: number | undefined;
  /** The reason why the handler's signal was aborted. */
  abortedBy: AbortCause | undefined;
  /** The way in which an operator stopped the work: `stopped by NAME`. `undefined` if nobody did. */
  stoppedBy: string | undefined;
  expiry: Deadline | undefined;
  /** The span of the handler. */
  span: TracedSpan | undefined;
  /** The time when a member of a group renews the ack deadline next. */
  renewal: Deadline | undefined;
  isStarted = false;
  /** See {@link ServedRequest.isFirst}. */
  isFirst = false;
  /** The time when the broker is told at the latest that work has begun. */
  startNotice: Deadline | undefined;
  /** True if its runner has finished with it. */
  isOver = false;
  readonly #deps: AcceptedRequestDeps;
  #cancellation: Cancellation | undefined;
  #signal: AbortSignal | undefined;

  constructor(key: string, message: Message, json: unknown, deps: AcceptedRequestDeps) {
    this.key = key;
    this.message = message;
    this.json = json;
    this.seq = message.seq;
    this.epoch = deps.epoch();
    this.#deps = deps;
    this.deadline = message.remaining_ms === undefined ? undefined : deps.now() + message.remaining_ms;
  }

  /** The signal is made when it is first asked for: most handlers of short work never do. */
  get signal(): AbortSignal {
    this.#signal ??= abortSignalOf(this.cancellation);
    return this.#signal;
  }

  get cancellation(): CancelSignal {
    if (this.#cancellation === undefined) {
      this.#cancellation = new Cancellation();
      if (this.abortedBy !== undefined) this.#cancellation.abort(this.#abortReason(this.abortedBy));
    }
    return this.#cancellation;
  }

  get mayWait(): boolean {
    return this.lanes === undefined || this.seq !== undefined;
  }

  get traceparent(): string | undefined {
    return this.span === undefined ? validTraceparent(this.message.traceparent) : this.span.traceparent;
  }

  // Getters that return functions, because handlers destructure the request (`({ json, progress }) => …`), and made on demand.
  get remainingMs(): () => number | undefined {
    return () => (this.deadline === undefined ? undefined : Math.max(0, this.deadline - this.#deps.now()));
  }

  get progress(): (body: unknown) => void {
    return (body) => {
      const text = JSON.stringify(body);
      if (text === undefined) throw clientError('invalid_message', 'a progress body must be a JSON value');
      if (!this.isOver) this.#deps.sendProgress(this, text);
    };
  }

  get started(): ServedRequest['started'] {
    return (how) => this.start(how);
  }

  stop(): void {
    this.abort('stopped');
  }

  /** Tells the broker, once, that work begins. */
  start(how?: { atOnce: boolean }): void {
    if (this.isStarted) return;
    this.isStarted = true;
    if (!this.isOver) this.#deps.sendWorking(this, how);
  }

  /** Aborts the handler's signal. Only the first cause counts. `stoppedBy` says how an operator stopped the work. */
  abort(by: AbortCause, stoppedBy?: string): void {
    if (this.abortedBy !== undefined) return;
    this.abortedBy = by;
    this.stoppedBy = stoppedBy;
    this.#cancellation?.abort(this.#abortReason(by));
  }

  /** Returns the message for another consumer to serve, with the rest of its lifetime. */
  toMessage(): Message {
    const { seq } = this;
    const remaining_ms = this.remainingMs();
    return {
      ...this.message,
      ...(seq !== undefined && { seq }),
      ...(remaining_ms !== undefined && { remaining_ms }),
    };
  }

  #abortReason(by: AbortCause): Error {
    if (this.stoppedBy !== undefined) return clientError('stopped_by_operator', this.stoppedBy);
    if (by === 'expired') return clientError('timed_out', 'the deadline of the request passed');
    if (by === 'closed') return clientError('closed', 'the client was closed');
    if (by === 'stopped') return clientError('aborted', 'the request was stopped by the one that serves it');
    return clientError('aborted', 'the requester cancelled');
  }
}
