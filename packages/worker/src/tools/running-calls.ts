/** The calls that run, and the way to end them all. */
export class RunningCalls {
  readonly #calls = new Map<AbortController, Promise<unknown>>();
  #isCancelled = false;

  /** Starts a call with a signal of its own, which `end` aborts, and {@link cancelAll}. */
  start<T>(work: (signal: AbortSignal) => Promise<T>): {
    answer: Promise<T>;
    end: (reason: unknown) => void;
  } {
    const controller = new AbortController();
    if (this.#isCancelled) controller.abort();
    const answer = work(controller.signal);
    const forget = () => this.#calls.delete(controller);
    this.#calls.set(controller, answer.then(forget, forget));
    return { answer, end: (reason) => controller.abort(reason) };
  }

  cancelAll(): void {
    this.#isCancelled = true;
    for (const controller of this.#calls.keys()) controller.abort();
  }

  /** Resolves when those that run now have ended, however. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls.values());
  }
}
