import type { ExpiryTime } from './expiry-time.ts';

/** The time has leapt if it gains more than this on the monotonic clock between two steps of housekeeping. */
const leapMs = 60_000;

/**
 * The time by which a store forgets. A leap makes what was settled a moment ago look old, so that nothing is forgotten for the dedupe
 * window after one, and after the start: for so long senders may repeat what they sent.
 */
export class BelievedTime {
  readonly #dedupeWindowMs: number;
  readonly #now: () => number;
  readonly #monotonic: () => number;
  /** The time of the last step of housekeeping, and the monotonic time at which it was done. */
  #noted: { time: number; at: number } | undefined;
  /** No settled message is forgotten before this monotonic time. */
  #forgetsAfter: number;

  /** `now` returns epoch milliseconds of the wall clock, `monotonic` those of a clock that nobody sets. */
  constructor(dedupeWindowMs: number, { now, monotonic }: { now: () => number; monotonic: () => number }) {
    this.#dedupeWindowMs = dedupeWindowMs;
    this.#now = now;
    this.#monotonic = monotonic;
    this.#forgetsAfter = monotonic() + dedupeWindowMs;
  }

  /** Notes the time of a step of housekeeping. Returns whether settled messages may be forgotten in it. */
  note({ earliest }: ExpiryTime): boolean {
    const now = this.#monotonic();
    const last = this.#noted;
    if (last && earliest - last.time - (now - last.at) > leapMs)
      this.#forgetsAfter = now + this.#dedupeWindowMs;
    this.#noted = { time: earliest, at: now };
    return now >= this.#forgetsAfter;
  }

  /** Returns the wall clock's time, but not ahead of what the broker last said the time is. */
  now(): number {
    const now = this.#now();
    const last = this.#noted;
    return last ? Math.min(now, last.time + this.#monotonic() - last.at) : now;
  }
}
