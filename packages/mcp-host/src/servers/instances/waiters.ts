interface Waiter<T> {
  leave(value: T | undefined): void;
}

/** Where callers wait for a value that comes later, each until its own time is up. */
export class Waiters<T> {
  readonly #waiters = new Set<Waiter<T>>();
  #closed = false;

  /** The next value admitted; `undefined` after `timeoutMs`, when `signal` aborts, or when nothing will come. */
  wait(timeoutMs: number, signal: AbortSignal): Promise<T | undefined> {
    if (this.#closed || signal.aborted || timeoutMs <= 0) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const giveUp = () => waiter.leave(undefined);
    const timer = setTimeout(giveUp, Math.min(timeoutMs, 2 ** 31 - 1));
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

  /** Hands `value` to everyone who waits now. */
  admit(value: T): void {
    this.#empty(value);
  }

  /** Sends everyone who waits now away with nothing. */
  dismiss(): void {
    this.#empty(undefined);
  }

  close(): void {
    this.#closed = true;
    this.#empty(undefined);
  }

  #empty(value: T | undefined): void {
    for (const waiter of [...this.#waiters]) waiter.leave(value);
  }
}
