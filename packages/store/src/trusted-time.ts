import type { ExpiryTime } from './expiry-time.ts';

/** The wall clock has leapt if it gains more than this on the monotonic clock between two steps of housekeeping. */
const leapMs = 60_000;

/**
 * The clock by which a store forgets messages. After a leap, messages that were settled a moment ago look old. Therefore nothing is
 * forgotten for one dedupe window after a leap and after the start: senders may repeat their messages for that long.
 */
export class TrustedTime {
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

  /** Notes the time of a step of housekeeping. Returns true if this step may forget settled messages. */
  note({ earliest }: ExpiryTime): boolean {
    const now = this.#monotonic();
    const last = this.#noted;
    if (last && earliest - last.time - (now - last.at) > leapMs)
      this.#forgetsAfter = now + this.#dedupeWindowMs;
    this.#noted = { time: earliest, at: now };
    return now >= this.#forgetsAfter;
  }

  /** Returns the wall clock's time, but not later than the last time of the broker, plus the time that has passed since. */
  now(): number {
    const now = this.#now();
    const last = this.#noted;
    return last ? Math.min(now, last.time + this.#monotonic() - last.at) : now;
  }
}
