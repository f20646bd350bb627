import { signal } from '@preact/signals';

/** The difference between the clock of the broker's machine and this one, in milliseconds. */
let aheadMs = 0;

/** Changes once a second, so that ages are shown anew. Epoch milliseconds of the broker's machine. */
export const now = signal(Date.now());

/** Records the time of the broker's machine: ages are shown by its clock, not by that of the browser. */
export function setServerTime(epochMs: number): void {
  aheadMs = epochMs - Date.now();
  now.value = serverTime();
}

/** Returns the time of the broker's machine in epoch milliseconds. */
export function serverTime(): number {
  return Date.now() + aheadMs;
}

/** Starts the clock. */
export function startClock(): void {
  setInterval(() => {
    if (document.visibilityState === 'visible') now.value = serverTime();
  }, 1000);
}
