import type { Message } from '@signalbox/protocol';

/** A message of the inbox that the broker has handed to us. */
export interface HeldMessage {
  seq: number;
  message: Message;
  json: unknown;
  /** Monotonic milliseconds. */
  receivedAt: number;
  /** Number of the read that returned it first. */
  offeredBy: number | undefined;
  /** False after the lease it came with, until it comes with the next one. */
  isLive: boolean;
  /** The agent is done with it; the broker does not know yet. */
  isDone: boolean;
}

/** A request that was never offered, and whose asker has been told by now that it expired. `now` monotonic. */
export function isOver({ message, receivedAt, offeredBy }: HeldMessage, now: number): boolean {
  const { kind, remaining_ms: remainingMs } = message;
  const isRequest = kind === 'ask' || kind === 'task';
  return isRequest && offeredBy === undefined && remainingMs !== undefined && receivedAt + remainingMs <= now;
}

/** Most that are remembered of former leases. */
const maxFormer = 1_000;

/** The messages that wait at the agent, in the order of the inbox. What it did with one outlives reconnects. */
export class HeldMessages {
  readonly #bySeq = new Map<number, HeldMessage>();

  /** Takes what was pushed; one that came before keeps its marks. */
  take(seq: number, message: Message, json: unknown, receivedAt: number): HeldMessage {
    const known = this.#bySeq.get(seq);
    const held = { seq, message, json, receivedAt, offeredBy: undefined, isDone: false, ...known };
    Object.assign(held, { message, json, receivedAt, isLive: true });
    // A lease begins with the oldest: one before this that did not come was settled elsewhere.
    for (const other of this.#bySeq.values())
      if (!other.isLive && other.seq < seq) this.#bySeq.delete(other.seq);
    this.#bySeq.set(seq, held as HeldMessage);
    return held as HeldMessage;
  }

  /** Nothing is ours until it is pushed again. */
  leaseEnded(): void {
    for (const held of this.#bySeq.values()) held.isLive = false;
    const surplus = this.#bySeq.size - maxFormer;
    for (const { seq } of this.#inOrder().slice(0, Math.max(0, surplus))) this.#bySeq.delete(seq);
  }

  /** What is to be dealt with. */
  waiting(): HeldMessage[] {
    return this.#inOrder().filter(({ isLive, isDone }) => isLive && !isDone);
  }

  /** What reads up to this one returned, and is not done. */
  offeredUpTo(read: number): HeldMessage[] {
    return this.#inOrder().filter(
      ({ offeredBy, isDone }) => offeredBy !== undefined && offeredBy <= read && !isDone,
    );
  }

  /** Messages of different senders may have the same id. */
  withId(id: string, from?: string): HeldMessage[] {
    return this.#inOrder().filter(
      ({ message, isDone }) =>
        message.id === id && !isDone && (from === undefined || message.from.agent === from),
    );
  }

  remove(seqs: readonly number[]): void {
    for (const seq of seqs) this.#bySeq.delete(seq);
  }

  get highestLiveSeq(): number {
    return Math.max(0, ...[...this.#bySeq.values()].map(({ seq, isLive }) => (isLive ? seq : 0)));
  }

  get liveCount(): number {
    return [...this.#bySeq.values()].filter(({ isLive }) => isLive).length;
  }

  #inOrder(): HeldMessage[] {
    return [...this.#bySeq.values()].sort((a, b) => a.seq - b.seq);
  }
}
