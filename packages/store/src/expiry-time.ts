/**
 * The present, in epoch milliseconds. It is one time while the wall clock runs evenly. After a step there are several: that of the wall
 * clock, and those that it would show without the step, as far as stamps of them may be in the store.
 */
export interface ExpiryTime {
  /** All of them, in ascending order. */
  readonly times: readonly number[];
  /** The first of {@link times}. */
  readonly earliest: number;
  /** The last of {@link times}. */
  readonly latest: number;
}

/** Returns the present by the clock that made a stamp: the earliest time that is not before the stamp. It is never too late. */
export function presentFor(stamp: number, { times, latest }: ExpiryTime): number {
  for (const time of times) if (time >= stamp) return time;
  return latest;
}

/** Tells whether the lifetime of a message is over. */
export function hasExpired(message: { createdAt: number; expiresAt: number }, time: ExpiryTime): boolean {
  return message.expiresAt <= presentFor(message.createdAt, time);
}

/** Returns the milliseconds since a stamp. */
export function ageOf(stamp: number, time: ExpiryTime): number {
  return presentFor(stamp, time) - stamp;
}

/** Returns the present of a clock that was never stepped. */
export function steadyTime(now: number): ExpiryTime {
  return { times: [now], earliest: now, latest: now };
}
