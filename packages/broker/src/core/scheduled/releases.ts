import type { Sender } from '@signalbox/protocol';
import type { InboxStore, NewMessage } from '@signalbox/store';
import type { CommitQueue } from '../commits/commit-queue.ts';
import type { Producer } from '../producer.ts';
import type { ExpiryClock } from '../time/expiry-clock.ts';

/** The most messages, and bytes of them, that are released by one commit. What others send meanwhile comes between two of them. */
const atOnce = { messages: 128, bytes: 1024 * 1024 };
/** What becomes due within this time after a release is released together, so that many messages do not cost a commit each. */
const pauseMs = 10;
/** A timer is set only for what is due this soon. {@link Releases.check} finds the rest, also after a step of the clock. */
const timerMs = 500;

/** The dependencies of {@link Releases}. */
export interface ReleasesDeps {
  scheduled: InboxStore['scheduled'];
  commits: Pick<CommitQueue, 'append' | 'written'>;
  /** Tells whether some consumer holds an inbox now. */
  isHeld: (inbox: string) => boolean;
  /** False if other brokers schedule messages, which this one has to release if they are gone by then. */
  isAlone: boolean;
  time: ExpiryClock;
  onError: (error: unknown) => void;
}

/**
 * Brings scheduled messages into their inboxes when they are due. After a leap of the wall clock a message is due only when the time
 * without the leap has reached it, too, or the wall clock is believed: so none is early because of a step.
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

  /** Releases what is due. Call it repeatedly. */
  check(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#running ??= this.#releaseAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Releases nothing more. Resolves when nothing is under way. */
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
      // If the store did not take them, perhaps because the disk is full, the next check tries again.
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
    const { commits, isHeld } = this.#deps;
    commits.append(message, producerOf(message), isHeld(message.inbox));
  }

  /** Finds out when the next message is due, or that there is none. One that is scheduled meanwhile is not overlooked. */
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

/** A released message has its receipt already, so that nobody waits for its result. */
function producerOf({ sender: agent, senderAddress: address, senderRole: role }: NewMessage): Producer {
  const sender: Sender = { agent, address, role };
  return { sender, answer() {} };
}
