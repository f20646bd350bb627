import { type ClientFrame, encodeFrame, frameLimits } from '@signalbox/protocol';
import type { Clock } from '../clock.ts';

/** A message that is encoded when it leaves, so that its remaining lifetime is exact. */
export interface Sendable {
  /** Returns the frame's text, or `undefined` if it is not to be sent any more. */
  encode(now: number): string | undefined;
}

/** The longest WebSocket message, in characters, unless one frame is longer: the broker can begin only when it has the whole message. */
const maxBatchLength = 64 * 1024;
/** If more messages than this are added in one turn, they leave before it ends: the broker begins while the rest is made (ADR 10). */
const messagesAtOnce = 16;
const maxKeptCancels = 1_000;
/** The longest wait of an ack for another frame to travel with, in milliseconds. */
const ackWaitMs = 5;
/** This many acks leave without that wait, so that the broker's window is never full of messages whose acks wait. */
const acksAtOnce = 16;

/**
 * Gathers the frames of one turn of the event loop and sends them in one WebSocket message, or a few: control frames first, then
 * messages. Without a connection cancels are kept; messages and acks are forgotten, since the delivery table sends messages
 * again and acks count on one connection only.
 */
export class Outbox {
  readonly #clock: Pick<Clock, 'now' | 'startTimer'>;
  #send: ((text: string) => void) | undefined;
  #scheduled = false;
  /** Cancels the timer that sends the acks if no other frame does. */
  #cancelAckTimer: (() => void) | undefined;
  #cancels: string[] = [];
  #control: string[] = [];
  #working: number[] = [];
  #acks: number[] = [];
  #messages: Sendable[] = [];

  /** Begins without a connection. */
  constructor(clock: Pick<Clock, 'now' | 'startTimer'>) {
    this.#clock = clock;
  }

  /** Sends through `send` from now on. */
  attach(send: (text: string) => void): void {
    this.#send = send;
    this.#schedule();
  }

  /** Forgets the frames that count on the lost connection only. */
  detach(): void {
    this.#send = undefined;
    this.#stopAckTimer();
    this.#control = [];
    this.#working = [];
    this.#acks = [];
    this.#messages = [];
  }

  /** Adds a frame that goes before messages; it is forgotten without a connection. */
  control(frame: ClientFrame, body?: string): void {
    if (this.#send === undefined) return;
    this.#control.push(encodeFrame(frame, body));
    this.#schedule();
  }

  /** Adds a cancel, which is kept until there is a connection. */
  cancel(to: string, correlationId: string): void {
    if (this.#send === undefined && this.#cancels.length >= maxKeptCancels) this.#cancels.shift();
    this.#cancels.push(encodeFrame({ type: 'cancel', to, correlation_id: correlationId }));
    this.#schedule();
  }

  /** Adds an ack; all acks of a turn leave in one frame. */
  ack(seq: number): void {
    if (this.#send === undefined) return;
    this.#acks.push(seq);
    this.#schedule();
  }

  /** Adds an ack that nobody waits for: it travels with the next frames, or leaves by itself after 5 ms. */
  ackLater(seq: number): void {
    if (this.#send === undefined) return;
    this.#acks.push(seq);
    if (this.#scheduled) return;
    if (this.#acks.length >= acksAtOnce) this.#schedule();
    else this.#cancelAckTimer ??= this.#clock.startTimer(() => this.flush(), ackWaitMs);
  }

  /** Adds a `working`. All of a turn leave in one frame, except those that name a span: each of these leaves at once by itself. */
  working(seq: number, traceparent?: string): void {
    if (traceparent !== undefined) {
      this.control({ type: 'working', seqs: [seq], traceparent });
      return;
    }
    if (this.#send === undefined) return;
    this.#working.push(seq);
    this.#schedule();
  }

  /** Adds a message, which is encoded when it leaves. */
  deliver(item: Sendable): void {
    if (this.#send === undefined) return;
    if (this.#messages.length === messagesAtOnce) this.flush();
    this.#messages.push(item);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#send === undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Sends what is waiting, at once. */
  flush(): void {
    const send = this.#send;
    if (send === undefined) return;
    this.#stopAckTimer();
    let batch = '';
    const put = (text: string): void => {
      if (batch.length > 0 && batch.length + text.length > maxBatchLength) {
        send(batch);
        batch = '';
      }
      batch += text;
    };
    this.#takeControl().forEach(put);
    const messages = this.#messages;
    if (messages.length > 0) {
      this.#messages = [];
      const now = this.#clock.now();
      for (const item of messages) {
        const text = item.encode(now);
        if (text !== undefined) put(text);
      }
    }
    if (batch.length > 0) send(batch);
  }

  #stopAckTimer(): void {
    this.#cancelAckTimer?.();
    this.#cancelAckTimer = undefined;
  }

  #takeControl(): string[] {
    const frames = this.#cancels.concat(this.#control);
    for (const seqs of chunks(this.#working)) frames.push(encodeFrame({ type: 'working', seqs }));
    for (const seqs of chunks(this.#acks)) frames.push(encodeFrame({ type: 'ack', seqs }));
    this.#cancels = [];
    this.#control = [];
    this.#working = [];
    this.#acks = [];
    return frames;
  }
}

/** Splits sequence numbers into parts that fit into one frame each. */
export function chunks(seqs: readonly number[]): number[][] {
  const parts: number[][] = [];
  for (let at = 0; at < seqs.length; at += frameLimits.seqs)
    parts.push(seqs.slice(at, at + frameLimits.seqs));
  return parts;
}
