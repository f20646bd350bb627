/** The wall clock has leapt if it gains more than this on the monotonic clock. */
const leapMs = 60_000;

/** A moment on both clocks: epoch milliseconds, and monotonic ones. */
export interface Moment {
  wall: number;
  monotonic: number;
}

/**
 * Tells whether the deadline of a request lies in a leap of the wall clock between two moments. The monotonic clock does not count the time
 * that a machine sleeps, so nobody may wait for the answer any more. `remainingMs` returns the rest of the request's lifetime at the later
 * moment, by the monotonic clock; `undefined` without one.
 */
export function endedInLeap(before: Moment, after: Moment, remainingMs: () => number | undefined): boolean {
  const wallMs = after.wall - before.wall;
  const monotonicMs = after.monotonic - before.monotonic;
  if (wallMs - monotonicMs <= leapMs) return false;
  const leftMs = remainingMs();
  return leftMs !== undefined && wallMs >= leftMs + monotonicMs;
}
