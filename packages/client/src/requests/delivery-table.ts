import { type DeliverFrame, type ErrorFrame, encodeFrame, type SignalboxError } from '@signalbox/protocol';
import type { Clock } from '../clock.ts';
import type { DeadlineTable } from '../deadline-table.ts';
import { brokerError, retryAfterMsOf } from '../errors.ts';
import { backoffMs } from '../socket/backoff.ts';
import type { Outbox } from '../socket/outbox.ts';
import { PassingMap } from './passing-map.ts';

/** What its owner learns of a deliver, unless it is dropped before. */
export interface DeliveryOwner {
  /** The broker holds it; or it has left, where that is all there is to know (`sentIsEnough`). */
  receipted(duplicate: boolean): void;
  /**
   * The broker refused it; true has it tried again after a while.
   * `mayBeStored`: an earlier sending, whose fate was lost with its socket, may be stored.
   */
  refused(error: SignalboxError, mayBeStored: boolean): boolean;
  /** The client is closed and will never know more. */
  closed?(error: SignalboxError): void;
  /** The `settles` of the frame, asked each time it leaves. */
  settles?(): number | undefined;
}

export interface DeliveryOptions {
  frame: DeliverFrame;
  body: string | undefined;
  owner: DeliveryOwner;
  /** Where the lifetime ends on the monotonic clock; `ttl_ms` is what is left of it when the frame leaves. */
  expiresAt?: number | undefined;
  /** For ephemeral messages, which have no receipt. Without this they stay, to hear of a refusal, until dropped. */
  sentIsEnough?: boolean;
}

/** A deliver without its receipt. It is sent again, with the same id, on each new connection until it has one. */
export class Delivery {
  readonly frame: DeliverFrame;
  readonly owner: DeliveryOwner;
  readonly #body: string | undefined;
  readonly #expiresAt: number | undefined;
  readonly #sentIsEnough: boolean;
  readonly #queue: DeliveryTable;
  /** Sent on the present connection, unanswered. */
  inFlight = false;
  /** Sent on an earlier connection that ended before the answer. */
  uncertain = false;
  refusals = 0;
  /** Nobody waits for it any more. */
  done = false;
  /** Same id, another recipient: receipts name only the id, so it waits for this one. */
  next: Delivery | undefined;

  constructor(options: DeliveryOptions, queue: DeliveryTable) {
    this.frame = options.frame;
    this.owner = options.owner;
    this.#body = options.body;
    this.#expiresAt = options.expiresAt;
    this.#sentIsEnough = options.sentIsEnough === true;
    this.#queue = queue;
  }

  /** Whether the broker may hold it although there was no receipt. */
  get mayBeStored(): boolean {
    return this.inFlight || this.uncertain;
  }

  encode(now: number): string | undefined {
    if (this.done || this.inFlight) return undefined;
    const { frame, owner } = this;
    const expiresAt = this.#expiresAt;
    if (expiresAt !== undefined) frame.ttl_ms = Math.max(1, Math.ceil(expiresAt - now));
    if (owner.settles !== undefined) frame.settles = owner.settles();
    this.inFlight = true;
    if (this.#sentIsEnough) this.#queue.receipted(frame.id, false);
    return encodeFrame(frame, this.#body);
  }
}

const retryPolicy = { baseMs: 100, capMs: 2_000 };

/** The wait before a refused deliver is tried again: what the broker asked for, or a jittered back-off. */
export function refusalDelayMs(error: SignalboxError, refusals: number, random: number): number {
  return retryAfterMsOf(error) ?? 20 + backoffMs(retryPolicy, refusals, random);
}

export interface DeliverQueuePorts {
  outbox: Outbox;
  deadlines: DeadlineTable;
  clock: Clock;
}

/** Every deliver that has no receipt yet, in sending order. Paused while there is no connection to send them on. */
export class DeliveryTable {
  readonly #ports: DeliverQueuePorts;
  readonly #pending = new PassingMap<Delivery>();
  #open = false;

  constructor(ports: DeliverQueuePorts) {
    this.#ports = ports;
  }

  add(options: DeliveryOptions): Delivery {
    const deliver = new Delivery(options, this);
    this.#enter(deliver);
    return deliver;
  }

  /** Sends a deliver once that nobody waits for: no receipt, no repeat. */
  sendOnce(frame: DeliverFrame, body: string): void {
    if (this.#open) this.#ports.outbox.work({ encode: () => encodeFrame(frame, body) });
  }

  /** Gives a deliver up; its owner hears nothing more. */
  drop(deliver: Delivery): void {
    if (deliver.done) return;
    deliver.done = true;
    // One in flight keeps its place until its answer came, so that no other deliver is given that answer.
    if (!deliver.inFlight || deliver.frame.ephemeral) this.#leave(deliver);
  }

  resume(): void {
    this.#open = true;
    for (const deliver of this.#pending.values()) {
      if (!deliver.inFlight) this.#ports.outbox.work(deliver);
    }
  }

  pause(): void {
    this.#open = false;
  }

  /** The connection is gone, and with it the answers. */
  disconnected(): void {
    this.#open = false;
    for (const deliver of this.#pending.values()) {
      deliver.uncertain ||= deliver.inFlight;
      deliver.inFlight = false;
      if (deliver.done) this.#leave(deliver);
    }
  }

  /** The client is closed: nothing more will be answered. */
  endAll(error: SignalboxError): void {
    this.#open = false;
    const heads = this.#pending.values();
    this.#pending.clear();
    for (const head of heads) {
      for (let deliver: Delivery | undefined = head; deliver !== undefined; deliver = deliver.next) {
        if (deliver.done) continue;
        deliver.done = true;
        deliver.owner.closed?.(error);
      }
    }
  }

  receipted(id: string, duplicate: boolean): void {
    const deliver = this.#pending.take(id);
    if (deliver === undefined) return;
    this.#follow(deliver);
    if (deliver.done) return;
    deliver.done = true;
    deliver.owner.receipted(duplicate);
  }

  /** Handles an `error` frame with an `id`; false if no deliver waits under it. */
  refused(id: string, frame: ErrorFrame): boolean {
    const deliver = this.#pending.get(id);
    if (deliver === undefined) return false;
    deliver.inFlight = false;
    if (deliver.done) {
      this.#leave(deliver);
    } else if (frame.code !== 'shutting_down') {
      this.#decide(deliver, brokerError(frame));
    }
    // A broker that shuts down closes the socket next; the deliver waits for the connection after it.
    return true;
  }

  #decide(deliver: Delivery, error: SignalboxError): void {
    if (deliver.owner.refused(error, deliver.uncertain)) {
      this.#retryLater(deliver, error);
    } else {
      deliver.done = true;
      this.#leave(deliver);
    }
  }

  #retryLater(deliver: Delivery, error: SignalboxError): void {
    const { deadlines, clock, outbox } = this.#ports;
    const delayMs = refusalDelayMs(error, deliver.refusals++, clock.random());
    deadlines.add(clock.now() + delayMs, () => {
      if (this.#open) outbox.work(deliver);
    });
  }

  #enter(deliver: Delivery): void {
    const { id } = deliver.frame;
    let last = this.#pending.get(id);
    if (last === undefined) {
      this.#pending.add(id, deliver);
      if (this.#open) this.#ports.outbox.work(deliver);
      return;
    }
    while (last.next !== undefined) last = last.next;
    last.next = deliver;
  }

  #leave(deliver: Delivery): void {
    const { id } = deliver.frame;
    if (this.#pending.get(id) !== deliver) return;
    this.#pending.take(id);
    this.#follow(deliver);
  }

  /** The one that waited for the answer to another of its id. */
  #follow(deliver: Delivery): void {
    let { next } = deliver;
    while (next?.done) next = next.next;
    if (next === undefined) return;
    this.#pending.add(next.frame.id, next);
    if (this.#open) this.#ports.outbox.work(next);
  }
}
