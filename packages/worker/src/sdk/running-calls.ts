import { clientGone } from '../tools/face-tools.ts';

/** A call that runs. `abort` cancels it. */
export interface StartedCall<Answer> {
  answer: Promise<Answer>;
  abort: (reason: unknown) => void;
}

/** Knows the running calls, and can cancel all of them. */
export class RunningCalls {
  readonly #calls = new Map<AbortController, Promise<unknown>>();
  #isCancelled = false;

  /** Starts a call with a signal of its own, which `abort` and {@link cancelAll} abort. */
  start<Answer>(work: (signal: AbortSignal) => Promise<Answer>): StartedCall<Answer> {
    const controller = new AbortController();
    if (this.#isCancelled) controller.abort();
    const answer = work(controller.signal);
    const forget = () => this.#calls.delete(controller);
    this.#calls.set(controller, answer.then(forget, forget));
    return { answer, abort: (reason) => controller.abort(reason) };
  }

  /** Cancels the running calls, and those that are started later. */
  cancelAll(): void {
    this.#isCancelled = true;
    for (const controller of this.#calls.keys()) controller.abort();
  }

  /** Ends the wait for the running calls without cancelling them: the client has hung up. */
  clientHungUp(): void {
    for (const controller of this.#calls.keys()) controller.abort(clientGone);
  }

  /** Resolves when the present calls have ended, even if they failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls.values());
  }
}
