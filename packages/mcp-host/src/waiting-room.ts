interface Waiter<T> {
  leave(value: T | undefined): void;
}

/** Where callers wait for a value that comes later, each until its own time is up. */
export class WaitingRoom<T> {
  readonly #waiters = new Set<Waiter<T>>();
  #closed = false;

  /** The next value admitted; `undefined` after `timeoutMs`, when `signal` aborts, or when the room closes. */
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
    for (const waiter of [...this.#waiters]) waiter.leave(value);
  }

  close(): void {
    this.#closed = true;
    for (const waiter of [...this.#waiters]) waiter.leave(undefined);
  }
}
