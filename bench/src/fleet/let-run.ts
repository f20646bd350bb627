import { setTimeout as wait } from 'node:timers/promises';

/** Lets what runs go on for that long; rejects with the signal's reason. */
export async function letRun(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}
