/** A caller over its limit may send again when the tokens of this many milliseconds have come in, so that its messages share commits. */
export const refillMs = 20;

/** A token bucket: it allows `perSecond` on average and `burst` at once. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;
  /** The number of tokens that must be there before one is taken. */
  #needed = 1;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = now;
  }

  /** Takes one token. Returns 0 if that is allowed now, else the milliseconds to wait. `now` is in milliseconds. */
  take(now: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#tokens < this.#needed) {
      this.#needed = Math.min(this.#burst, Math.max(1, (this.#perSecond * refillMs) / 1000));
      return Math.ceil(((this.#needed - this.#tokens) / this.#perSecond) * 1000);
    }
    this.#needed = 1;
    this.#tokens--;
    return 0;
  }
}
