import type { Consumer } from '../consumer.ts';
import type { MessageHeader } from '../message-header.ts';

/** A message that was pushed and is not settled yet. */
export interface InFlightMessage extends MessageHeader {
  /** So many consumers tried it before this one. */
  attempts: number;
  /** Since when its ack deadline runs. */
  renewedAt: number;
  /** The consumer handed it to its handler. */
  working: boolean;
  /** Its sender cancelled it: it is not offered again when the lease ends. */
  cancelled: boolean;
  /** It was settled while its consumer had it: what the consumer says of it changes nothing. */
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
  /** A read of the inbox runs. */
  reading = false;
  /** Something was committed to the inbox since the running read began. */
  missed = false;
  /** The messages that were settled since the running read began: it may still return them. */
  readonly settledSinceRead = new Set<number>();
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

  /** Returns how much more fits. A message larger than the whole window still travels alone. */
  room(): { messages: number; bytes: number } {
    if (!this.consumer.writable || this.#bytes >= this.#windowBytes) return { messages: 0, bytes: 0 };
    return { messages: this.#window - this.inFlight.size, bytes: this.#windowBytes - this.#bytes };
  }

  /** True if a message of this size may be pushed now. */
  fits(size: number): boolean {
    return (
      this.consumer.writable &&
      this.inFlight.size < this.#window &&
      (this.#bytes === 0 || this.#bytes + size <= this.#windowBytes)
    );
  }

  /** The message is pushed: it counts against the window until it is released. */
  hold(seq: number, message: InFlightMessage): void {
    this.inFlight.set(seq, message);
    this.#bytes += message.size;
    if (seq > this.cursor) this.cursor = seq;
  }

  /** A message ends, and not by what its consumer says of it. */
  settledElsewhere(seq: number): void {
    if (this.reading) this.settledSinceRead.add(seq);
  }

  /** The message is no longer this consumer's. */
  release(seq: number): InFlightMessage | undefined {
    const message = this.inFlight.get(seq);
    if (!message) return undefined;
    this.inFlight.delete(seq);
    this.#bytes -= message.size;
    return message;
  }
}
