/** Whoever is over a budget waits for at least so many milliseconds, so that what comes next is handled together. */
const leastWaitMs = 20;

/**
 * An allowance that grows by `perSecond` up to `burst`. Spending is never refused: what is spent beyond the allowance is a debt, and
 * {@link Budget.waitMs} tells when it is paid. It reads no clock, so that spending costs one subtraction.
 */
export class Budget {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
    this.#at = now;
  }

  /** True if more was spent than is allowed, as far as is known since {@link waitMs} was last called. */
  get isOverdrawn(): boolean {
    return this.#left < 0;
  }

  spend(amount: number): void {
    this.#left -= amount;
  }

  /** Returns the milliseconds until the debt is paid, or 0. `now` is in monotonic milliseconds. */
  waitMs(now: number): number {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    return this.#left >= 0 ? 0 : Math.max(leastWaitMs, Math.ceil((-this.#left / this.#perSecond) * 1000));
  }

  /** True if nothing that was spent still counts. */
  isFull(now: number): boolean {
    this.waitMs(now);
    return this.#left === this.#burst;
  }
}
