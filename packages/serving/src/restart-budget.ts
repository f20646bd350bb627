/** Limits the restarts in a moving window of time. More than `max` of them mean that restarting does not help. */
export class RestartBudget {
  readonly #max: number;
  readonly #windowMs: number;
  #restarts: number[] = [];

  constructor(max: number, windowMs: number) {
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /** Takes one restart. Returns false when there is none left. `now` is in monotonic milliseconds. */
  spend(now: number): boolean {
    this.#restarts = this.#restarts.filter((at) => now - at < this.#windowMs);
    if (this.#restarts.length >= this.#max) return false;
    this.#restarts.push(now);
    return true;
  }

  /** Forgets all restarts so far. */
  clear(): void {
    this.#restarts = [];
  }
}
