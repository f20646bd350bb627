import type { Message } from '@signalbox/protocol';
import { validTraceparent } from '@signalbox/serving/tracing/internal';

/** A message of the agent's inbox that the broker has delivered. */
export interface CheckedOutMessage {
  seq: number;
  message: Message;
  /** The `traceparent` of the read that returned it first, or, without tracing, the valid one that it came with. */
  traceparent: string | undefined;
  json: unknown;
  /** Monotonic milliseconds. */
  receivedAt: number;
  /** The number of the read that returned it first. */
  shownBy: number | undefined;
  /** The time of the last read that returned it, in monotonic milliseconds. */
  shownAt: number | undefined;
  /** False from the end of the lease in which it came until it comes again in the next one. */
  isLive: boolean;
  /** True if the agent has finished with the message; the ack may not have reached the broker yet. */
  isDone: boolean;
}

/** Returns true if a request expired before it was shown, so that its sender needs no answer any more. `now` is monotonic. */
export function hasExpiredUnread(mail: CheckedOutMessage, now: number): boolean {
  if (!isQuestion(mail.message.kind) || mail.shownBy !== undefined) return false;
  const leftMs = remainingMs(mail, now);
  return leftMs !== undefined && leftMs <= 0;
}

/** Returns true if the sender of a message of this kind waits for a reply. */
export function isQuestion(kind: string): boolean {
  return kind === 'ask' || kind === 'task';
}

/** Returns the rest of a message's lifetime in milliseconds: negative after its end, `undefined` without a lifetime. `now` is monotonic. */
export function remainingMs({ message, receivedAt }: CheckedOutMessage, now: number): number | undefined {
  return message.remaining_ms === undefined ? undefined : receivedAt + message.remaining_ms - now;
}

/**
 * Returns the time since this process or one before it last showed a message, in milliseconds; `undefined` if the message was never
 * shown or the time is unknown. `now` is monotonic.
 */
export function sinceShownMs(
  { message, receivedAt, shownAt }: CheckedOutMessage,
  now: number,
): number | undefined {
  if (shownAt !== undefined) return now - shownAt;
  return message.since_tried_ms === undefined ? undefined : now - receivedAt + message.since_tried_ms;
}

/** A message as it came, with its time of arrival in monotonic milliseconds. */
export type Arrival = Pick<CheckedOutMessage, 'seq' | 'message' | 'json' | 'receivedAt'>;

/** Makes a held message of a new arrival. If it came before, as `known`, it keeps its marks. */
export function checkedOutOf(arrival: Arrival, known: CheckedOutMessage | undefined): CheckedOutMessage {
  return {
    shownBy: known?.shownBy,
    shownAt: known?.shownAt,
    isDone: known?.isDone ?? false,
    traceparent: known?.traceparent ?? validTraceparent(arrival.message.traceparent),
    ...arrival,
    isLive: true,
  };
}

/** The most messages that are remembered from former leases. */
const maxFormer = 1_000;

/** The delivered messages that the agent has not finished with, in the order of the inbox. Their marks outlive reconnects. */
export class CheckedOutMessages {
  readonly #bySeq = new Map<number, CheckedOutMessage>();

  /** Adds a delivered message; one that came before keeps its marks. */
  add(arrival: Arrival): CheckedOutMessage {
    const { seq } = arrival;
    const mail = checkedOutOf(arrival, this.#bySeq.get(seq));
    // A lease begins with the oldest message: an earlier one that did not come was settled elsewhere.
    for (const other of this.#bySeq.values())
      if (!other.isLive && other.seq < seq) this.#bySeq.delete(other.seq);
    this.#bySeq.set(seq, mail);
    return mail;
  }

  /** Marks all messages as not live until they are delivered again. */
  leaseEnded(): void {
    for (const mail of this.#bySeq.values()) mail.isLive = false;
    const surplus = this.#bySeq.size - maxFormer;
    for (const { seq } of this.#inOrder().slice(0, Math.max(0, surplus))) this.#bySeq.delete(seq);
  }

  /** Returns the live messages that the agent is not done with. */
  waiting(): CheckedOutMessage[] {
    return this.#inOrder().filter(({ isLive, isDone }) => isLive && !isDone);
  }

  /** Returns the live messages that a read has returned and the agent is not done with. */
  unacked(): CheckedOutMessage[] {
    return this.waiting().filter(({ shownBy }) => shownBy !== undefined);
  }

  /** Returns the messages that were returned by reads up to this one, and are not done. */
  shownUpTo(read: number): CheckedOutMessage[] {
    return this.#inOrder().filter(
      ({ shownBy, isDone }) => shownBy !== undefined && shownBy <= read && !isDone,
    );
  }

  /** Returns the messages with an id; messages of different senders may have the same one. */
  withId(id: string, from?: string): CheckedOutMessage[] {
    return this.#inOrder().filter(
      ({ message, isDone }) =>
        message.id === id && !isDone && (from === undefined || message.from.agent === from),
    );
  }

  /** Forgets messages that the broker has settled. */
  remove(seqs: readonly number[]): void {
    for (const seq of seqs) this.#bySeq.delete(seq);
  }

  /** The highest `seq` of a live message, or 0. */
  get highestLiveSeq(): number {
    return Math.max(0, ...[...this.#bySeq.values()].map(({ seq, isLive }) => (isLive ? seq : 0)));
  }

  /** The number of live messages. */
  get liveCount(): number {
    return [...this.#bySeq.values()].filter(({ isLive }) => isLive).length;
  }

  #inOrder(): CheckedOutMessage[] {
    return [...this.#bySeq.values()].sort((a, b) => a.seq - b.seq);
  }
}
