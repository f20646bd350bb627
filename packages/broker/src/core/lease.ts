import type { CancelNotice, MessageFrame } from '@signalbox/protocol';
import type { MessageHeader } from './undeliverable.ts';

/** What a lease needs from the connection that holds it. */
export interface Consumer {
  /** False while its socket is past its buffer bound: nothing is pushed until `Delivery.resume`. */
  readonly writable: boolean;
  push(frame: MessageFrame, body: string | undefined): void;
  /** The live lane: may be dropped under back-pressure. */
  pushEphemeral(frame: MessageFrame, body: string | undefined): void;
  cancelRequest(notice: Omit<CancelNotice, 'type'>): void;
  leaseLost(reason: 'taken_over'): void;
}

/** A message that was pushed and not yet settled. */
export interface InFlightMessage extends MessageHeader {
  size: number;
  attempts: number;
  /** Since when its ack deadline runs. */
  renewedAt: number;
  /** Handed to the consumer's handler. */
  working: boolean;
  /** Its sender gave up; it is not offered again when the lease ends. */
  cancelled: boolean;
  /** Settled under its consumer's hands: whatever becomes of it there changes nothing. */
  ended: boolean;
}

export interface LeaseOptions {
  /** Most un-acked messages, and bytes of their bodies. */
  window: number;
  windowBytes: number;
  /** A message that is neither settled nor renewed by `working` in this time is taken back. */
  ackDeadlineMs?: number;
}

/**
 * One consumer's hold on one inbox. `cursor` is the highest sequence number handed on; `behind` says that the
 * store may hold messages after it that were not pushed live, so that the cut-over is by sequence number alone.
 */
export class Lease {
  readonly id: string;
  readonly address: string;
  readonly consumer: Consumer;
  readonly inFlight = new Map<number, InFlightMessage>();
  /** Sequence numbers below the cursor that are due again. */
  readonly retries: number[] = [];
  cursor = 0;
  behind = true;
  reading = false;
  /** Something was committed to the inbox since the running read began. */
  missed = false;
  started = false;
  ended = false;
  readonly ackDeadlineMs: number | undefined;
  readonly #window: number;
  readonly #windowBytes: number;
  #bytes = 0;

  constructor(id: string, address: string, consumer: Consumer, options: LeaseOptions) {
    this.id = id;
    this.address = address;
    this.consumer = consumer;
    this.ackDeadlineMs = options.ackDeadlineMs;
    this.#window = options.window;
    this.#windowBytes = options.windowBytes;
  }

  /** How many more messages fit; a message larger than the whole window still travels alone. */
  room(): { messages: number; bytes: number } {
    if (!this.consumer.writable || this.#bytes >= this.#windowBytes) return { messages: 0, bytes: 0 };
    return { messages: this.#window - this.inFlight.size, bytes: this.#windowBytes - this.#bytes };
  }

  fits(size: number): boolean {
    return (
      this.consumer.writable &&
      this.inFlight.size < this.#window &&
      (this.#bytes === 0 || this.#bytes + size <= this.#windowBytes)
    );
  }

  hold(seq: number, message: InFlightMessage): void {
    this.inFlight.set(seq, message);
    this.#bytes += message.size;
    if (seq > this.cursor) this.cursor = seq;
  }

  release(seq: number): InFlightMessage | undefined {
    const message = this.inFlight.get(seq);
    if (!message) return undefined;
    this.inFlight.delete(seq);
    this.#bytes -= message.size;
    return message;
  }
}
