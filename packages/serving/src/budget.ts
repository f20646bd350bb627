/** The shortest wait of an owner that is over its budget, in milliseconds. Later work then comes in larger batches. */
const leastWaitMs = 20;

/**
 * An allowance that grows by `perSecond` up to `burst`. Spending is never refused: spending beyond the allowance makes a debt, and {@link
 * Budget.waitMs} returns the time until it is paid. The class reads no clock, so that spending costs one subtraction.
 */
export class Budget {
  /**
   * True if more was spent than is allowed, by the time of the last call of {@link waitMs}. It is a plain field because it is read for each
   * frame.
   */
  isOverdrawn = false;
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

  spend(amount: number): void {
    this.#left -= amount;
    this.isOverdrawn = this.#left < 0;
  }

  /** Returns the milliseconds until the debt is paid, or 0. `now` is in monotonic milliseconds. */
  waitMs(now: number): number {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    this.isOverdrawn = this.#left < 0;
    return !this.isOverdrawn ? 0 : Math.max(leastWaitMs, Math.ceil((-this.#left / this.#perSecond) * 1000));
  }

  /** Returns true if the whole allowance is available. `now` is in monotonic milliseconds. */
  isFull(now: number): boolean {
    this.waitMs(now);
    return this.#left === this.#burst;
  }
}
