import type { CancelSignal } from '@signalbox/protocol';
import { timerMs } from '@signalbox/serving';

interface Waiter<T> {
  /** Ends the wait with the value. */
  end: (value: T | undefined) => void;
  /** Ends the wait without a value in so many milliseconds, unless it ends earlier. */
  endWithin: (ms: number) => void;
}

/** Lets callers wait for a value that comes later, each until its own time is up. */
export class Waiters<T> {
  readonly #waiters = new Set<Waiter<T>>();
  #isClosed = false;

  /**
   * Resolves with the next value; with `undefined` after `timeoutMs`, when `signal` aborts, or when no value will come.
   */
  wait(timeoutMs: number, signal: CancelSignal): Promise<T | undefined> {
    if (this.#isClosed || signal.aborted || timeoutMs <= 0) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const giveUp = () => waiter.end(undefined);
    const timers = [setTimeout(giveUp, timerMs(timeoutMs))];
    const waiter: Waiter<T> = {
      end: (value) => {
        for (const timer of timers) clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiters.delete(waiter);
        resolve(value);
      },
      endWithin: (ms) => timers.push(setTimeout(giveUp, timerMs(ms))),
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(waiter);
    return promise;
  }

  /** Lets no present waiter wait longer than `ms` milliseconds from now. */
  endWithin(ms: number): void {
    for (const waiter of this.#waiters) waiter.endWithin(ms);
  }

  /** Gives `value` to all present waiters; `undefined` tells them that no value will come. */
  release(value: T | undefined): void {
    for (const { end } of [...this.#waiters]) end(value);
  }

  /** Tells all present and later waiters that no value will come. */
  close(): void {
    this.#isClosed = true;
    this.release(undefined);
  }
}
