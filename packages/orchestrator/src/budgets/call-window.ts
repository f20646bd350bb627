import type { Budget } from './call-budgets.ts';

/** Calls this close together, in parts of a window, are remembered as one entry. */
const parts = 64;

/** Calls that were counted together; they leave the window with the last of them. */
interface Entry {
  firstAt: number;
  lastAt: number;
  calls: number;
}

/**
 * The calls of the last stretch of time. Never lets more through than the budget says; remembers at most a few dozen
 * numbers for it, so that places come back up to a 64th of the window late. Times are monotonic milliseconds.
 */
export class CallWindow {
  readonly #entries: Entry[] = [];
  #calls = 0;
  #windowMs = 0;

  /** Milliseconds until there is a place for one more call; 0 if there is one now. */
  waitMs(budget: Budget, now: number): number {
    this.#forget(budget.windowMs, now);
    let excess = this.#calls - budget.calls + 1;
    for (const { lastAt, calls } of this.#entries) {
      if (excess <= 0) return 0;
      excess -= calls;
      if (excess <= 0) return lastAt + budget.windowMs - now;
    }
    return 0;
  }

  /** Counts a call; what it returns takes the call back, once. */
  count({ windowMs }: Budget, now: number): () => void {
    let entry = this.#entries.at(-1);
    if (entry === undefined || now - entry.firstAt >= windowMs / parts) {
      entry = { firstAt: now, lastAt: now, calls: 0 };
      this.#entries.push(entry);
    }
    const counted = entry;
    entry.lastAt = now;
    entry.calls++;
    this.#calls++;
    let isTakenBack = false;
    return () => {
      if (isTakenBack || !this.#entries.includes(counted)) return;
      isTakenBack = true;
      counted.calls--;
      this.#calls--;
    };
  }

  /** True if all that it remembers is too old to matter. */
  isIdle(now: number): boolean {
    this.#forget(this.#windowMs, now);
    return this.#entries.length === 0;
  }

  #forget(windowMs: number, now: number): void {
    this.#windowMs = windowMs;
    while (this.#entries.length > 0 && this.#entries[0]!.lastAt + windowMs <= now) {
      this.#calls -= this.#entries.shift()!.calls;
    }
  }
}
