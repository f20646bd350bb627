/** Limits the restarts in a moving window of time. More than `max` of them mean that restarting does not help. */
export class RestartBudget {
  readonly #max: number;
  readonly #windowMs: number;
  #restarts: number[] = [];

  constructor(max: number, windowMs: number) {
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /**
   * Takes one restart. Returns the number of those before it in the window, or `undefined` when none is left. `now` is in monotonic
   * milliseconds.
   */
  spend(now: number): number | undefined {
    this.#restarts = this.#restarts.filter((at) => now - at < this.#windowMs);
    if (this.#restarts.length >= this.#max) return undefined;
    return this.#restarts.push(now) - 1;
  }

  /** Forgets all restarts so far. */
  clear(): void {
    this.#restarts = [];
  }
}
