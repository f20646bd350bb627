const firstMs = 100;
const longestMs = 60_000;

/** Returns the wait before restart number `attempt` (from 0): up to 100 ms, doubling to a minute, with full jitter. `random` is in [0, 1]. */
export function backoffMs(attempt: number, random: number): number {
  return random * Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 16));
}
