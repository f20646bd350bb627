/**
 * The present, in epoch milliseconds. It has one time while the wall clock runs evenly. After a step of the clock it has several: that of
 * the wall clock, and the times that the clock would show without the step, as long as the store may have stamps of them.
 */
export interface ExpiryTime {
  /** All times, in ascending order. */
  readonly times: readonly number[];
  /** The first of {@link times}. */
  readonly earliest: number;
  /** The last of {@link times}. */
  readonly latest: number;
}

/** The time that a caller had reached, and the marks of the schedules that ran until then, by name. */
export interface KeptTime extends ExpiryTime {
  readonly schedules: Readonly<Record<string, string>>;
}

/** Writes what is kept of a time. */
export function keptTimeText({ times }: ExpiryTime, schedules: Readonly<Record<string, string>>): string {
  return JSON.stringify({ times: times.map(Math.floor), schedules });
}

/** Reads what was kept of a time; `undefined` if it is of another format. */
export function keptTimeOf(text: string): KeptTime | undefined {
  const { times = [], schedules = {} } = JSON.parse(text) as Partial<KeptTime>;
  const [earliest, latest] = [times[0], times.at(-1)];
  return earliest === undefined || latest === undefined ? undefined : { times, earliest, latest, schedules };
}

/** Returns the present by the clock that made a stamp: the earliest time that is not before the stamp. The result is never too late. */
export function presentFor(stamp: number, { times, latest }: ExpiryTime): number {
  for (const time of times) if (time >= stamp) return time;
  return latest;
}

/** Tells whether a message's lifetime is over. */
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
