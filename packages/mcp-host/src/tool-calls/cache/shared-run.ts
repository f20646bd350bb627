import type { CancelSignal } from '@signalbox/protocol';
/** One run that several callers wait for. It is aborted when the last of them has gone. */
export class SharedRun<T> {
  readonly #abort = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(run: (signal: CancelSignal) => Promise<T>) {
    this.#result = run(this.#abort.signal);
  }

  /** True if all callers have gone, so that none can join any more. */
  get isAbandoned(): boolean {
    return this.#abort.signal.aborted;
  }

  /**
   * Resolves with the result of the run; with `undefined` at once when `signal` aborts and others still wait. The last caller to leave
   * aborts the run, with the reason of its own signal, and gets the result of the aborted run.
   */
  join(signal: CancelSignal): Promise<T | undefined> {
    this.#waiting++;
    const { promise: gone, resolve: go } = Promise.withResolvers<undefined>();
    const leave = () => {
      if (--this.#waiting > 0) go(undefined);
      else this.#abort.abort(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return Promise.race([this.#result, gone]).finally(() => signal.removeEventListener('abort', leave));
  }
}
