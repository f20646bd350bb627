const firstMs = 50;
const longestMs = 1_000;

/** The time that a connection must last before the delays begin from the shortest again, in milliseconds. */
export const steadyAfterMs = 2_000;

/** Returns the wait before try number `attempt` (from 0), in milliseconds: half of it is jitter, so that many shims do not come at once. */
export function reconnectDelayMs(attempt: number, random: number): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 10));
  return (fullMs / 2) * (1 + random);
}
