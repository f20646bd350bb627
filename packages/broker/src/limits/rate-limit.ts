/**
 * A caller over its limit may send again when this many milliseconds' worth of its rate is available, so that its messages share commits.
 */
export const refillMs = 20;

/** Limits a rate by the token bucket algorithm: `perSecond` uses on average, `burst` at once. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at: number;
  /** The number of uses that must be left before the next one is allowed. */
  #needed = 1;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#at = now;
  }

  /** Counts one use and returns 0 if it is allowed now. If not, returns the milliseconds to wait. `now` is in monotonic milliseconds. */
  take(now: number): number {
    this.#refill(now);
    if (this.#left < this.#needed) {
      this.#needed = Math.min(this.#burst, Math.max(1, (this.#perSecond * refillMs) / 1000));
      return Math.ceil(((this.#needed - this.#left) / this.#perSecond) * 1000);
    }
    this.#needed = 1;
    this.#left--;
    return 0;
  }

  /** Counts uses that have been made already. `now` is in monotonic milliseconds. */
  count(uses: number, now: number): void {
    this.#refill(now);
    this.#left = Math.max(0, this.#left - uses);
  }

  /** Tells whether no earlier use counts any more. */
  isFull(now: number): boolean {
    return this.#left + ((now - this.#at) / 1000) * this.#perSecond >= this.#burst;
  }

  #refill(now: number): void {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}
