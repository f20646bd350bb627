/** A caller over its limit waits until as much as comes in this time may pass, so that its messages share commits. */
export const restMs = 20;

/** A rate limit (a token bucket): `perSecond` on average, `burst` at once. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;
  /** There must be so many for one to be taken. */
  #needed = 1;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes one. Returns 0 if it is allowed now, else the milliseconds to wait. */
  take(now: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#tokens < this.#needed) {
      this.#needed = Math.min(this.#burst, Math.max(1, (this.#perSecond * restMs) / 1000));
      return Math.ceil(((this.#needed - this.#tokens) / this.#perSecond) * 1000);
    }
    this.#needed = 1;
    this.#tokens--;
    return 0;
  }
}
