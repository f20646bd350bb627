import type { ServedRequest } from '@signalbox/client';

/** The wall clock has leapt if it gains more than this on the monotonic clock. */
const leapMs = 60_000;

/** The clocks at one moment of a request: epoch milliseconds, and the rest of its lifetime by the monotonic clock. */
export interface Moment {
  wall: number;
  /** `undefined` for a request without a lifetime. */
  remainingMs: number | undefined;
}

/**
 * Tells whether the deadline of a request lies in a leap of the wall clock between two moments. The monotonic clock does not count the time
 * that a machine sleeps, so nobody may wait for the answer any more.
 */
export function endedInLeap(before: Moment, after: Moment): boolean {
  if (before.remainingMs === undefined || after.remainingMs === undefined) return false;
  const passed = after.wall - before.wall;
  const leap = passed - (before.remainingMs - after.remainingMs);
  return leap > leapMs && passed >= before.remainingMs;
}

/** Reads the clocks for a request. `now` is in epoch milliseconds. */
export function momentOf(now: () => number, request: Pick<ServedRequest, 'remainingMs'>): Moment {
  return { wall: now(), remainingMs: request.remainingMs() };
}
