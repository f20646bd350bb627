/** The lifetime of an agent’s token whose issuer names none, in milliseconds: 30 days. */
export const agentTokenMs = 30 * 24 * 3_600_000;

/** The longest time before the end of a token in which it counts as near, in milliseconds. */
const nearEndMs = 3 * 24 * 3_600_000;

/** Tells whether a token ends soon: within the last tenth of its life, and within three days. Times in epoch milliseconds. */
export function endsSoon(
  { created_at, expires_at }: { created_at: number; expires_at?: number | undefined },
  now: number,
): boolean {
  if (expires_at === undefined) return false;
  return expires_at - now <= Math.min(nearEndMs, (expires_at - created_at) / 10);
}
