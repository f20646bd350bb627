/**
 * Resolves with true when `event` resolves, or with false after `ms` milliseconds. Rejects if `event` rejects first.
 */
export async function happensWithin(ms: number, event: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([event.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
