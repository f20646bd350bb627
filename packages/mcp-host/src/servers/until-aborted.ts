import type { CancelSignal } from '@signalbox/protocol';
/** Resolves like `event`, or with `undefined` as soon as the signal aborts. */
export async function untilAborted<T>(event: Promise<T>, signal: CancelSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const stopWaiting = () => resolve(undefined);
  signal.addEventListener('abort', stopWaiting, { once: true });
  try {
    return await Promise.race([event, aborted]);
  } finally {
    signal.removeEventListener('abort', stopWaiting);
  }
}
