import { type ClientFrame, encodeFrame } from '@signalbox/protocol';

/** A frame that is encoded when it leaves, so that its lifetime is counted up to then; `undefined` if it was called off. */
export interface Sendable {
  encode(now: number): string | undefined;
}

/** Longest batch, in characters: a longer one would keep the broker waiting for its end before it can begin. */
const splitAt = 64 * 1024;
/** So many frames of work leave before the turn ends, if more follow: the broker begins with them while the rest is made. */
const workAtOnce = 16;
const maxSeqsPerFrame = 10_000;
const maxKeptCancels = 1_000;

/**
 * What waits to be sent in this turn of the event loop. It leaves in one WebSocket message, control before work; much work
 * leaves in several. Without a connection, work and acks are forgotten (their owners know) and cancels are kept.
 */
export class Outbox {
  readonly #now: () => number;
  #send: ((text: string) => void) | undefined;
  #scheduled = false;
  #cancels: string[] = [];
  #control: string[] = [];
  #working: number[] = [];
  #acks: number[] = [];
  #work: Sendable[] = [];

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  attach(send: (text: string) => void): void {
    this.#send = send;
    this.#schedule();
  }

  detach(): void {
    this.#send = undefined;
    this.#control = [];
    this.#working = [];
    this.#acks = [];
    this.#work = [];
  }

  control(frame: ClientFrame): void {
    if (this.#send === undefined) return;
    this.#control.push(encodeFrame(frame));
    this.#schedule();
  }

  cancel(to: string, correlationId: string): void {
    if (this.#send === undefined && this.#cancels.length >= maxKeptCancels) this.#cancels.shift();
    this.#cancels.push(encodeFrame({ type: 'cancel', to, correlation_id: correlationId }));
    this.#schedule();
  }

  ack(seq: number): void {
    if (this.#send === undefined) return;
    this.#acks.push(seq);
    this.#schedule();
  }

  working(seq: number): void {
    if (this.#send === undefined) return;
    this.#working.push(seq);
    this.#schedule();
  }

  work(item: Sendable): void {
    if (this.#send === undefined) return;
    if (this.#work.length === workAtOnce) this.flush();
    this.#work.push(item);
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

  /** Sends at once what is waiting. */
  flush(): void {
    const send = this.#send;
    if (send === undefined) return;
    let batch = '';
    const put = (text: string): void => {
      if (batch.length > 0 && batch.length + text.length > splitAt) {
        send(batch);
        batch = '';
      }
      batch += text;
    };
    this.#takeControl().forEach(put);
    const work = this.#work;
    if (work.length > 0) {
      this.#work = [];
      const now = this.#now();
      for (const item of work) {
        const text = item.encode(now);
        if (text !== undefined) put(text);
      }
    }
    if (batch.length > 0) send(batch);
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

/** At most as many sequence numbers as one frame may carry. */
export function chunks(seqs: readonly number[]): number[][] {
  const parts: number[][] = [];
  for (let at = 0; at < seqs.length; at += maxSeqsPerFrame) parts.push(seqs.slice(at, at + maxSeqsPerFrame));
  return parts;
}
