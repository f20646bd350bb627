import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@signalbox/protocol';
import { backoffMs } from '@signalbox/serving';
import type { ServerConnection } from '../../server-connection.ts';
import type { ListReadings } from '../list-readings.ts';

/** A server that announced nothing for this many milliseconds after a reading is read at once on its next announcement. */
const quietMs = 5_000;
/** The longest time by which the list lags behind announcements that do not end, in milliseconds. */
const longestLagMs = 1_000;
/** The waits between readings. */
const readingBackoff = { firstMs: 100, longestMs: 60_000, jitter: 1 };

/** The dependencies of a {@link ListRefresh}. */
export interface ListRefreshDeps<List> {
  /** The name of the listed entries: `tools`. */
  what: string;
  /** Monotonic milliseconds. */
  now: () => number;
  random: () => number;
  /** Is told while a reading of the list is due. */
  readings: ListReadings;
  /** Ends all pauses. */
  stop: AbortSignal;
  /** Waits this many milliseconds, or until the signal is aborted; default: a timer. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Returns the connection to list over, while the server is ready. */
  connection: () => ServerConnection | undefined;
  /** Reads the list once. */
  read: (connection: ServerConnection) => Promise<List>;
  /** Called with each list that was read. */
  onList: (list: List) => void;
  /** Called after each reading with the problem of the list, if it has one. */
  onProblem: (problem: string | undefined) => void;
}

/**
 * Reads a list of a server again when the server announces a change. There is one reading at a time; an announcement during a reading
 * causes one more, so the last list that was read is the latest. The list of a server that keeps announcing changes is read less and less
 * often, down to once a second.
 */
export class ListRefresh<List> {
  readonly #deps: ListRefreshDeps<List>;
  #isDue = false;
  #isReading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #readings = 0;

  constructor(deps: ListRefreshDeps<List>) {
    this.#deps = deps;
  }

  /** Forgets the announcements so far, because the list is about to be read anyway. */
  forgetAnnouncements(): void {
    this.#isDue = false;
  }

  /** Reads the list if a change was announced while the server was not ready. */
  resume(): void {
    if (this.#isDue) this.announce();
  }

  /** Reads the list, now or as soon as the server's share of readings allows it. */
  announce(): void {
    this.#isDue = true;
    if (this.#isReading) return;
    if (this.#deps.now() - this.#readAt >= quietMs) this.#readings = 0;
    this.#readWhileDue();
  }

  async #readWhileDue(): Promise<void> {
    this.#isReading = true;
    const over = this.#deps.readings.begin();
    for (let failures = 0; this.#isDue && this.#deps.connection()?.isOpen; ) {
      await this.#pause(this.#dueInMs());
      const connection = this.#deps.connection();
      if (!connection?.isOpen) break;
      this.#isDue = false;
      const problem = await this.#readOver(connection);
      if (connection !== this.#deps.connection() || !connection.isOpen) continue;
      this.#deps.onProblem(problem);
      if (problem === undefined) continue;
      this.#isDue = true;
      await this.#pause(backoffMs(readingBackoff, failures++, this.#deps.random()));
    }
    this.#isReading = false;
    over();
  }

  /** Returns the wait before the next reading in milliseconds: none after a quiet time, else longer each time. */
  #dueInMs(): number {
    const sinceMs = this.#deps.now() - this.#readAt;
    if (this.#readings === 0) return 0;
    return Math.max(0, Math.min(longestLagMs, backoffMs(readingBackoff, this.#readings - 1, 1)) - sinceMs);
  }

  async #readOver(connection: ServerConnection): Promise<string | undefined> {
    this.#readings++;
    this.#readAt = this.#deps.now();
    try {
      const list = await this.#deps.read(connection);
      if (connection === this.#deps.connection()) this.#deps.onList(list);
      return undefined;
    } catch (error) {
      return `the ${this.#deps.what} may have changed, but could not be listed again: ${messageOf(error)}`;
    }
  }

  async #pause(ms: number): Promise<void> {
    const { wait = timer, stop } = this.#deps;
    if (ms > 0) await wait(ms, stop);
  }
}

async function timer(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
