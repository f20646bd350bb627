/**
 * The present, in epoch milliseconds, as far as it is known. Both fields are the wall clock's time while it runs evenly. After the
 * clock was stepped, stamps of two clocks meet: `earliest` is the time of the one that is behind, `latest` of the one that is ahead.
 */
export interface ExpiryTime {
  readonly earliest: number;
  readonly latest: number;
}

/** Returns the present by the clock that made a stamp. A stamp after `earliest` can only come from the clock that is ahead. */
export function presentFor(stamp: number, { earliest, latest }: ExpiryTime): number {
  return stamp > earliest ? latest : earliest;
}

/** Tells whether the lifetime of a message is over. */
export function hasExpired(message: { createdAt: number; expiresAt: number }, time: ExpiryTime): boolean {
  return message.expiresAt <= presentFor(message.createdAt, time);
}

/** Returns the milliseconds since a stamp. */
export function ageOf(stamp: number, time: ExpiryTime): number {
  return presentFor(stamp, time) - stamp;
}

/** Returns the present by a clock that was never stepped. */
export function steadyTime(now: number): ExpiryTime {
  return { earliest: now, latest: now };
}
