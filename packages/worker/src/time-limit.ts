import type { CancelSignal } from '@signalbox/client';
/** The result of {@link within} if its promise took too long. */
export const late = Symbol('late');

/** Waits for a promise. Resolves to {@link late} after `waitMs`, or when `signal` is aborted. */
export async function within<T>(
  promise: Promise<T>,
  waitMs: number,
  signal?: CancelSignal,
): Promise<T | typeof late> {
  if (signal?.aborted) return late;
  const timeUp = Promise.withResolvers<typeof late>();
  const giveUp = () => timeUp.resolve(late);
  const timer = setTimeout(giveUp, waitMs);
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([promise, timeUp.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}
