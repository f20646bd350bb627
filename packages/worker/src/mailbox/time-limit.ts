export const late = Symbol('late');

/** Waits for a promise, at most `waitMs` and until `signal` says that nobody waits any more: then it is `late`. */
export async function within<T>(
  promise: Promise<T>,
  waitMs: number,
  signal?: AbortSignal,
): Promise<T | typeof late> {
  if (signal?.aborted) return late;
  const given = Promise.withResolvers<typeof late>();
  const giveUp = () => given.resolve(late);
  const timer = setTimeout(giveUp, waitMs);
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([promise, given.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}
