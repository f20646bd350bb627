import { Budget } from '@signalbox/protocol/internal';

const perSecond = 1_000;
const burst = 250;
/** A notice of so many characters more costs as much as one more notice. */
const charactersPerUnit = 4 * 1024;

/**
 * Bounds the notices of one connection to a server, which are all of its messages that answer nothing: each of them costs the host time
 * that all servers share. A connection over its budget is read later.
 */
export class NoticeBudget {
  readonly #budget: Budget;
  readonly #now: () => number;

  /** `now` is in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#budget = new Budget(perSecond, burst, now());
  }

  /** Counts notices with so many characters together. Returns the milliseconds until the connection may be read on, or 0. */
  spend(notices: number, characters: number): number {
    this.#budget.spend(notices + characters / charactersPerUnit);
    return this.#budget.isOverdrawn ? this.#budget.waitMs(this.#now()) : 0;
  }
}
