/** The waits between tries of the same thing, in milliseconds: the first one, which doubles with each try up to the longest. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
  /** The share of each wait that is random (0 to 1), so that those that failed together do not come again together. */
  jitter: number;
}

/** Returns the wait after failure number `attempt` (from 0), in whole milliseconds. `random` is in [0, 1]. */
export function backoffMs({ firstMs, longestMs, jitter }: Backoff, attempt: number, random: number): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(fullMs * (1 - jitter + jitter * random));
}
