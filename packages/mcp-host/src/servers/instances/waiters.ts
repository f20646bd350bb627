import type { CancelSignal } from '@signalbox/protocol';
import { timerMs } from '../../tool-calls/index.ts';

/** Lets callers wait for a value that comes later, each until its own time is up. */
export class Waiters<T> {
  /** Each function ends one wait with the value. */
  readonly #waiters = new Set<(value: T | undefined) => void>();
  #isClosed = false;

  /**
   * Resolves with the next value; with `undefined` after `timeoutMs`, when `signal` aborts, or when no value will come.
   */
  wait(timeoutMs: number, signal: CancelSignal): Promise<T | undefined> {
    if (this.#isClosed || signal.aborted || timeoutMs <= 0) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const giveUp = () => end(undefined);
    const timer = setTimeout(giveUp, timerMs(timeoutMs));
    const end = (value: T | undefined) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      this.#waiters.delete(end);
      resolve(value);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(end);
    return promise;
  }

  /** Gives `value` to all present waiters; `undefined` tells them that no value will come. */
  release(value: T | undefined): void {
    for (const end of [...this.#waiters]) end(value);
  }

  /** Tells all present and later waiters that no value will come. */
  close(): void {
    this.#isClosed = true;
    this.release(undefined);
  }
}
