const rememberedStarts = 16;
const maxSeconds = 600;

/**
 * Estimates when a refused call of one worker can find room in the worker's queue, from the rate at which that queue moves. It exists while
 * calls wait in the queue. Times are monotonic milliseconds.
 */
export class RetryEstimate {
  /** The time when the queue formed, or the oldest remembered start, and then every later start of a waiting call. */
  readonly #startTimes: number[];
  /** The number of refused callers for whom no slot has become free yet. */
  #refused = 0;

  constructor(now: number) {
    this.#startTimes = [now];
  }

  /** Notes that a waiting call has started, which frees one slot. */
  started(now: number): void {
    this.#startTimes.push(now);
    if (this.#startTimes.length > rememberedStarts + 1) this.#startTimes.shift();
    if (this.#refused > 0) this.#refused--;
  }

  /**
   * Counts one more refused caller. Returns the seconds after which it may find a slot, from 1 to 600. Each refused caller waits for one
   * more start than the one before, so that they do not all come back at once. `expectedMs` is the assumed time between two starts until
   * one was seen.
   */
  refuse(now: number, expectedMs: number): number {
    this.#refused++;
    const starts = this.#startTimes.length - 1;
    const elapsedMs = now - this.#startTimes[0]!;
    const intervalMs = starts > 0 ? elapsedMs / starts : Math.max(elapsedMs, expectedMs);
    return Math.min(maxSeconds, Math.max(1, Math.ceil((this.#refused * intervalMs) / 1000)));
  }
}
