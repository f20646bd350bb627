import { setTimeout as wait } from 'node:timers/promises';

/** Waits for the work, but stops waiting when `signal` aborts. The owner of what does the work disposes it then. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Waits for that long. Rejects with the signal's reason when it aborts. */
export async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}
