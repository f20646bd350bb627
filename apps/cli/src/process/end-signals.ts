import { exitNow, startExitDeadline } from './exit-deadline.ts';

/** The signals that ask a process to end. */
export const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves with the first signal that asks this process to end, which then has a time for it. A second one ends it at once. */
export function firstEndSignal(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const ask = (signal: string): void => {
      if (asked) exitNow();
      asked = true;
      startExitDeadline();
      resolve(signal);
    };
    for (const signal of endSignals) process.on(signal, () => ask(signal));
  });
}
