import { timerMs } from '../../timer-ms.ts';

interface Waiter<T> {
  leave(value: T | undefined): void;
}

/** Callers that wait for a value that comes later, each until its own time is up. */
export class Waiters<T> {
  readonly #waiters = new Set<Waiter<T>>();
  #isClosed = false;

  /**
   * Resolves with the next value; with `undefined` after `timeoutMs`, when `signal` aborts, or when no value will come.
   */
  wait(timeoutMs: number, signal: AbortSignal): Promise<T | undefined> {
    if (this.#isClosed || signal.aborted || timeoutMs <= 0) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const giveUp = () => waiter.leave(undefined);
    const timer = setTimeout(giveUp, timerMs(timeoutMs));
    const waiter: Waiter<T> = {
      leave: (value) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiters.delete(waiter);
        resolve(value);
      },
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(waiter);
    return promise;
  }

  /** Gives `value` to all who wait now; `undefined` tells them that none will come. */
  release(value: T | undefined): void {
    for (const waiter of [...this.#waiters]) waiter.leave(value);
  }

  /** Tells all who wait, now or later, that no value will come. */
  close(): void {
    this.#isClosed = true;
    this.release(undefined);
  }
}
