import type { CancelSignal } from '@signalbox/protocol';

/** The longest time that a timer of Node can have, in milliseconds: 24 days. A longer one would end at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** Returns the delay for a timer, which takes whole milliseconds and at most {@link longestTimerMs} of them. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), longestTimerMs);
}

/** The result of {@link within} if its promise took too long. */
export const late = Symbol('late');

/**
 * Waits for a promise. Resolves to {@link late} after `waitMs`, or when `signal` is aborted; a later failure of the promise is ignored.
 */
export async function within<T>(
  promise: Promise<T>,
  waitMs: number,
  signal?: CancelSignal,
): Promise<T | typeof late> {
  if (signal?.aborted) {
    promise.catch(() => {});
    return late;
  }
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
