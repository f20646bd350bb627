import { Budget } from '@signalbox/serving';

const perSecond = 1_000;
const burst = 250;
/** A notice costs as much as one more notice for each of these many characters. */
const charactersPerUnit = 4 * 1024;

/**
 * Bounds the notices of one connection to a server. Notices are all messages that answer no request: each costs the host time that all
 * servers share. A connection over its budget is read later.
 */
export class NoticeBudget {
  readonly #budget: Budget;
  readonly #now: () => number;

  /** Begins with a full budget. `now` is in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#budget = new Budget(perSecond, burst, now());
  }

  /** Counts notices with this many characters together. Returns the milliseconds until the connection may be read on, or 0. */
  spend(notices: number, characters: number): number {
    this.#budget.spend(notices + characters / charactersPerUnit);
    return this.#budget.isOverdrawn ? this.#budget.waitMs(this.#now()) : 0;
  }
}
