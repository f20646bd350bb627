import type { Budget } from './call-budgets.ts';

/** Calls within this fraction of a window (one 64th) share an entry. */
const entriesPerWindow = 64;

/** Calls that were counted together. They leave the window together, with the last of them. */
interface Entry {
  firstAt: number;
  lastAt: number;
  calls: number;
}

/**
 * Counts the calls of the most recent period. It never lets more calls through than the budget allows. It remembers
 * groups of calls instead of single ones, so a call may leave the window up to a 64th of its length late. Times are
 * monotonic milliseconds.
 */
export class CallWindow {
  readonly #entries: Entry[] = [];
  #calls = 0;
  #windowMs = 0;
  /** The role of the call that was counted last. */
  role = '';

  /** Returns the milliseconds until one more call is allowed; 0 if it is allowed now. */
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

  /** Returns the number of calls that count. */
  used({ windowMs }: Budget, now: number): number {
    this.#forget(windowMs, now);
    return this.#calls;
  }

  /** Counts a call, or several. The returned function undoes that; calling it again does nothing. */
  count({ windowMs }: Budget, now: number, calls = 1): () => void {
    this.#windowMs = windowMs;
    let entry = this.#entries.at(-1);
    if (entry === undefined || now - entry.firstAt >= windowMs / entriesPerWindow) {
      entry = { firstAt: now, lastAt: now, calls: 0 };
      this.#entries.push(entry);
    }
    const counted = entry;
    entry.lastAt = now;
    entry.calls += calls;
    this.#calls += calls;
    let isTakenBack = false;
    return () => {
      if (isTakenBack || !this.#entries.includes(counted)) return;
      isTakenBack = true;
      counted.calls -= calls;
      this.#calls -= calls;
    };
  }

  /** Tells whether all counted calls are too old to matter. */
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
