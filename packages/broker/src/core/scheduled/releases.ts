import type { Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { Producer } from '../producer.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';

/** The most messages, and the most bytes of them, that one commit releases. Other senders' messages come between two of these commits. */
const atOnce = { messages: 128, bytes: 1024 * 1024 };
/**
 * The time after a release in which due messages are collected for the next one, so that many messages do not cost a commit each. In
 * milliseconds.
 */
const pauseMs = 10;
/** The longest timer, in milliseconds. {@link Releases.check} finds messages that are due later, also after a step of the clock. */
const timerMs = 500;

/** The dependencies of {@link Releases}. */
export interface ReleasesDeps {
  scheduled: InboxStore['scheduled'];
  commits: Pick<CommitQueue, 'append' | 'written'>;
  /** Tells whether a consumer holds an inbox now. */
  isLeased: (inbox: string) => boolean;
  /** False if other brokers schedule messages, which this one must release if they have ended by then. */
  isAlone: boolean;
  time: ExpiryClock;
  onError: (error: unknown) => void;
}

/**
 * Brings scheduled messages into their inboxes when they are due. After a leap of the wall clock, a message is due only when the time
 * without the leap has reached it, too, or when the wall clock is trusted. So no message is early because of a step.
 */
export class Releases {
  readonly #deps: ReleasesDeps;
  /** No message is due before this time. */
  #nextDueAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: ReleasesDeps) {
    this.#deps = deps;
  }

  /** Notes that a message was scheduled. */
  scheduled(dueAt: number): void {
    if (dueAt >= this.#nextDueAt) return;
    this.#nextDueAt = dueAt;
    this.#setTimer();
  }

  /** Releases the due messages. Call it repeatedly. */
  check(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#running ??= this.#releaseAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Stops releasing. Resolves when no release is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(this.#deps.onError);
  }

  async #releaseAll(): Promise<void> {
    const { scheduled, commits, isAlone, time } = this.#deps;
    if (!isAlone) await this.#findNext();
    let last: number | undefined;
    while (this.#nextDueAt <= time.look().earliest) {
      const due = await scheduled.due(time.earliest, atOnce.messages, atOnce.bytes);
      const [first] = due;
      // If the store refused them, perhaps because the disk is full, the next check tries again.
      if (this.#isClosed || (first && first.release?.number === last)) return;
      if (!first) {
        await this.#findNext();
        continue;
      }
      last = first.release?.number;
      for (const message of due) this.#release(message);
      await commits.written();
      if (this.#isClosed) return;
    }
    this.#setTimer(pauseMs);
  }

  #release(message: NewMessage): void {
    const { commits, isLeased } = this.#deps;
    commits.append(message, producerOf(message), isLeased(message.inbox));
  }

  /** Finds out when the next message is due, or that there is none. A message that is scheduled meanwhile is not overlooked. */
  async #findNext(): Promise<void> {
    this.#nextDueAt = Number.POSITIVE_INFINITY;
    const found = await this.#deps.scheduled.nextDueAt();
    if (found !== undefined) this.#nextDueAt = Math.min(this.#nextDueAt, found);
  }

  #setTimer(leastMs = 0): void {
    clearTimeout(this.#timer);
    const { time, onError } = this.#deps;
    const wait = this.#nextDueAt - time.look().earliest;
    if (this.#isClosed || wait > timerMs) return;
    this.#timer = setTimeout(() => this.check().catch(onError), Math.max(leastMs, Math.ceil(wait)));
  }
}

/** Makes the producer of a released message. It ignores the result, because the message has its receipt already. */
function producerOf({ sender: agent, senderAddress: address, senderRole: role }: NewMessage): Producer {
  const sender: Sender = { agent, address, role };
  return { sender, answer() {} };
}
