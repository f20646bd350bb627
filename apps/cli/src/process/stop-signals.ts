import { isatty } from 'node:tty';
import { isSupervised } from '@signalbox/daemon/supervisor';
import { exitCodes } from '../terminal/exit-codes.ts';
import { endSignals } from './end-signals.ts';
import { exitNow, startExitDeadline, stopTimeoutMs } from './exit-deadline.ts';

/**
 * Resolves with the reason when this process is asked to end: SIGTERM, SIGINT, SIGHUP, or the end of the process
 * that supervises it. A second signal ends it at once. From then on nothing keeps it waiting for its supervisor.
 * A process that has not ended {@link stopTimeoutMs} later, or after `timeoutMs`, exits with 1. With `onHangup`, SIGHUP calls that
 * function in a process without a terminal, because only a terminal can be hung up.
 */
export function stopRequested(options: { onHangup?: () => void; timeoutMs?: number } = {}): Promise<string> {
  const { onHangup, timeoutMs = stopTimeoutMs } = options;
  const hangsUp = onHangup !== undefined && !isatty(0) && !isatty(1);
  return new Promise((resolve) => {
    let asked = false;
    const ask = (reason: string): void => {
      if (asked && reason !== 'disconnect') exitNow();
      if (!asked) startExitDeadline(timeoutMs);
      asked = true;
      if (process.connected) process.disconnect();
      resolve(reason);
    };
    for (const signal of endSignals) {
      process.on(signal, hangsUp && signal === 'SIGHUP' ? onHangup : () => ask(signal));
    }
    if (isSupervised()) process.once('disconnect', () => ask('disconnect'));
  });
}

/** Resolves or rejects as the first of `ends` does, which begin the end of this process. It then has {@link stopTimeoutMs} for it. */
export async function firstEnd<T>(...ends: readonly Promise<T>[]): Promise<T> {
  try {
    return await Promise.race(ends);
  } finally {
    startExitDeadline();
  }
}

/**
 * Returns a signal that aborts when this process is asked to end, so that its request is withdrawn first. A second
 * request ends it at once, and so does any after this was disposed.
 */
export function withdrawOnSignal(): Disposable & { readonly signal: AbortSignal } {
  const withdrawal = new AbortController();
  const ask = (): void => {
    if (withdrawal.signal.aborted) process.exit(exitCodes.interrupted);
    withdrawal.abort();
  };
  for (const signal of endSignals) process.on(signal, ask);
  return {
    signal: withdrawal.signal,
    [Symbol.dispose]: () => {
      for (const signal of endSignals) process.off(signal, ask);
    },
  };
}
