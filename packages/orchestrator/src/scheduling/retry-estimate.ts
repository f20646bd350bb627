const remembered = 16;
const longestSeconds = 600;

/** How fast the queue of one worker moves. Times are monotonic milliseconds; lives as long as something waits in it. */
export class WaitingPace {
  /** When the queue began, or the oldest start remembered; then each start from it since. */
  readonly #marks: number[];
  #turnedAway = 0;

  constructor(now: number) {
    this.#marks = [now];
  }

  /** A call that waited has started: one place is free again. */
  started(now: number): void {
    this.#marks.push(now);
    if (this.#marks.length > remembered + 1) this.#marks.shift();
    if (this.#turnedAway > 0) this.#turnedAway--;
  }

  /**
   * Seconds after which a caller that is turned away now may find a place: as many starts from now as there were
   * callers turned away and not yet made up for, so that they don't all come back at once. `expectedMs` is the time
   * between two starts as long as none was seen. At least 1, at most 600: further ahead it would be a guess.
   */
  turnAway(now: number, expectedMs: number): number {
    this.#turnedAway++;
    const starts = this.#marks.length - 1;
    const elapsedMs = now - this.#marks[0]!;
    const intervalMs = starts > 0 ? elapsedMs / starts : Math.max(elapsedMs, expectedMs);
    return Math.min(longestSeconds, Math.max(1, Math.ceil((this.#turnedAway * intervalMs) / 1000)));
  }
}
