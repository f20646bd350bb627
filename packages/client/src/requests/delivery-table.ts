import { type DeliverFrame, type ErrorFrame, encodeFrame, type SignalboxError } from '@signalbox/protocol';
import { PassingMap } from '@signalbox/serving';
import type { Receipt } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import { brokerError } from '../errors.ts';
import { refusalDelayMs } from '../socket/backoff.ts';
import type { Outbox } from '../socket/outbox.ts';
import type { DeadlineTable } from './deadline-table.ts';

/** The facts of a receipt that most receipts do not have. */
export type ReceiptFacts = Omit<Receipt, 'id' | 'duplicate'>;

/** Is told what became of a delivery, unless it drops the delivery before. */
export interface DeliveryOwner {
  /**
   * Called when the broker holds the message; with `endsWhenSent`, when the message has left. `waits`: it is a final reply, and nobody
   * holds its inbox.
   */
  receipted(duplicate: boolean, waits: boolean, facts?: ReceiptFacts): void;
  /**
   * Called when the broker refused the message; returns true to have it tried again after a while.
   * `mayBeStored`: it was sent before on a connection that was lost, and that sending may be stored.
   */
  refused(error: SignalboxError, mayBeStored: boolean): boolean;
  /**
   * Called when the message was sent without a receipt, and another broker answers now; returns true to have it sent to that one,
   * too. The other broker doesn't know whether the message was stored or handled before.
   */
  brokerReplaced(): boolean;
  /** Called when the client is closed, and nothing more can be learned. */
  closed?(error: SignalboxError): void;
  /** Returns the `settles` of the frame; called each time it leaves. */
  settles?(): number | undefined;
}

export interface DeliveryOptions {
  frame: DeliverFrame;
  body: string | undefined;
  owner: DeliveryOwner;
  /** End of the lifetime in monotonic milliseconds; `ttl_ms` is set to what is left of it each time the frame leaves. */
  expiresAt?: number | undefined;
  /**
   * For ephemeral messages, which have no receipt. True: the delivery ends when the message has left. Otherwise it stays until it
   * is dropped, so that its owner hears of a refusal.
   */
  endsWhenSent?: boolean;
}

/** One message that is to be delivered. It is sent again with the same id on each new connection, until it has its receipt. */
export class Delivery {
  readonly frame: DeliverFrame;
  readonly owner: DeliveryOwner;
  readonly #body: string | undefined;
  readonly #expiresAt: number | undefined;
  readonly #endsWhenSent: boolean;
  readonly #table: DeliveryTable;
  /** True if the message was sent on the present connection and is not answered yet. */
  inFlight = false;
  /** True if the message was sent on an earlier connection that ended before the answer. */
  isUncertain = false;
  refusals = 0;
  /** True if the owner knows the end of the delivery, or does not want to know it. */
  isOver = false;
  /** A message with the same id to another recipient. It waits for the end of this one, since receipts name only the id. */
  next: Delivery | undefined;

  constructor(options: DeliveryOptions, table: DeliveryTable) {
    this.frame = options.frame;
    this.owner = options.owner;
    this.#body = options.body;
    this.#expiresAt = options.expiresAt;
    this.#endsWhenSent = options.endsWhenSent === true;
    this.#table = table;
  }

  /** True if the broker may hold the message although there was no receipt. */
  get mayBeStored(): boolean {
    return this.inFlight || this.isUncertain;
  }

  /** Called by the outbox when the frame leaves. Returns `undefined` if it is not to be sent any more. */
  encode(now: number): string | undefined {
    if (this.isOver || this.inFlight) return undefined;
    const { frame, owner } = this;
    const expiresAt = this.#expiresAt;
    if (expiresAt !== undefined) frame.ttl_ms = Math.max(1, Math.ceil(expiresAt - now));
    if (owner.settles !== undefined) frame.settles = owner.settles();
    this.inFlight = true;
    if (this.#endsWhenSent) this.#table.receipted(frame.id, false, false);
    return encodeFrame(frame, this.#body);
  }
}

export interface DeliveryTableDeps {
  outbox: Outbox;
  deadlines: DeadlineTable;
  clock: Clock;
}

/** The deliveries without a receipt, by id and in sending order. Nothing is sent while the table is paused. */
export class DeliveryTable {
  readonly #deps: DeliveryTableDeps;
  readonly #pending = new PassingMap<Delivery>();
  #isPaused = true;

  constructor(deps: DeliveryTableDeps) {
    this.#deps = deps;
  }

  /** Adds a delivery and sends it, or has it wait for the end of another one with the same id. */
  add(options: DeliveryOptions): Delivery {
    const delivery = new Delivery(options, this);
    const { id } = delivery.frame;
    const first = this.#pending.get(id);
    if (first === undefined) this.#start(id, delivery);
    else lastOf(first).next = delivery;
    return delivery;
  }

  /** Sends an ephemeral message whose end nobody waits for; it is lost if the table is paused. */
  sendOnce(frame: DeliverFrame, body: string): void {
    if (!this.#isPaused) this.#deps.outbox.deliver({ encode: () => encodeFrame(frame, body) });
  }

  /** Gives a delivery up; its owner is told nothing more. */
  drop(delivery: Delivery): void {
    if (delivery.isOver) return;
    delivery.isOver = true;
    // A delivery in flight keeps its place until its answer has come, so that no other delivery is given that answer.
    if (!delivery.inFlight || delivery.frame.ephemeral) this.#remove(delivery);
  }

  /** Sends the deliveries that are not in flight, and those that are added from now on. */
  resume(): void {
    this.#isPaused = false;
    for (const delivery of this.#pending.values()) {
      if (!delivery.inFlight) this.#deps.outbox.deliver(delivery);
    }
  }

  /** Stops sending until `resume`. */
  pause(): void {
    this.#isPaused = true;
  }

  /** The answers to what is in flight are lost with the connection. */
  disconnected(): void {
    this.#isPaused = true;
    for (const delivery of this.#pending.values()) {
      delivery.isUncertain ||= delivery.inFlight;
      delivery.inFlight = false;
      if (delivery.isOver) this.#remove(delivery);
    }
  }

  /**
   * Gives up deliveries that an earlier broker may have stored, unless their owners want them sent to the new one. Call it between
   * connections.
   */
  brokerReplaced(): void {
    for (const delivery of this.#pending.values()) {
      if (!delivery.isUncertain || delivery.isOver || delivery.owner.brokerReplaced()) continue;
      delivery.isOver = true;
      this.#remove(delivery);
    }
  }

  /** Tells all owners that the client is closed. */
  endAll(error: SignalboxError): void {
    this.#isPaused = true;
    const firsts = this.#pending.values();
    this.#pending.clear();
    for (const first of firsts) {
      for (let delivery: Delivery | undefined = first; delivery !== undefined; delivery = delivery.next) {
        if (delivery.isOver) continue;
        delivery.isOver = true;
        delivery.owner.closed?.(error);
      }
    }
  }

  /** Handles the receipt of a message. */
  receipted(id: string, duplicate: boolean, waits: boolean, facts?: ReceiptFacts): void {
    const delivery = this.#pending.take(id);
    if (delivery === undefined) return;
    this.#startNext(delivery);
    if (delivery.isOver) return;
    delivery.isOver = true;
    delivery.owner.receipted(duplicate, waits, facts);
  }

  /** Handles an `error` frame with an `id`. Returns false if no delivery waits under that id. */
  refused(id: string, frame: ErrorFrame): boolean {
    const delivery = this.#pending.get(id);
    if (delivery === undefined) return false;
    delivery.inFlight = false;
    if (delivery.isOver) {
      this.#remove(delivery);
    } else if (frame.code !== 'shutting_down') {
      this.#retryOrEnd(delivery, brokerError(frame));
    }
    // A broker that is shutting down closes the socket next; the delivery waits for the next connection.
    return true;
  }

  #retryOrEnd(delivery: Delivery, error: SignalboxError): void {
    if (delivery.owner.refused(error, delivery.isUncertain)) {
      this.#retryLater(delivery, error);
    } else {
      delivery.isOver = true;
      this.#remove(delivery);
    }
  }

  #retryLater(delivery: Delivery, error: SignalboxError): void {
    const { deadlines, clock, outbox } = this.#deps;
    const delayMs = refusalDelayMs(error, delivery.refusals++, clock.random());
    deadlines.add(clock.now() + delayMs, () => {
      if (!this.#isPaused) outbox.deliver(delivery);
    });
  }

  #start(id: string, delivery: Delivery): void {
    this.#pending.add(id, delivery);
    if (!this.#isPaused) this.#deps.outbox.deliver(delivery);
  }

  #remove(delivery: Delivery): void {
    const { id } = delivery.frame;
    if (this.#pending.get(id) !== delivery) return;
    this.#pending.take(id);
    this.#startNext(delivery);
  }

  /** Starts the delivery that waited for the end of this one, because it has the same id. */
  #startNext(ended: Delivery): void {
    let { next } = ended;
    while (next?.isOver) next = next.next;
    if (next !== undefined) this.#start(next.frame.id, next);
  }
}

function lastOf(first: Delivery): Delivery {
  let last = first;
  while (last.next !== undefined) last = last.next;
  return last;
}
