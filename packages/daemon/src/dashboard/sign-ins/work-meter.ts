/**
 * Divides the processor time of the process among all running tasks. Waiting for the answer of another process costs nothing. The broker's
 * work for agents meanwhile is divided among the tasks, too.
 */
export class WorkMeter {
  readonly #busyMs: () => number;
  readonly #running = new Set<(ms: number) => void>();
  #at = 0;

  /** `busyMs` returns the processor time so far, in milliseconds. */
  constructor(busyMs: () => number) {
    this.#busyMs = busyMs;
  }

  /** Calls `spend` with a share of the work, until the result is disposed. */
  begin(spend: (ms: number) => void): Disposable {
    this.#settle();
    // The same function may be given for several tasks.
    const one = (ms: number): void => spend(ms);
    this.#running.add(one);
    return {
      [Symbol.dispose]: () => {
        this.#settle();
        this.#running.delete(one);
      },
    };
  }

  #settle(): void {
    const now = this.#busyMs();
    const each = (now - this.#at) / this.#running.size;
    this.#at = now;
    for (const spend of this.#running) spend(each);
  }
}
