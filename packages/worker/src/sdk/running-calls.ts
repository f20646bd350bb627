import { clientGone } from '../tools/face-tools.ts';

/** A call that runs. `abort` cancels it. */
export interface StartedCall<Answer> {
  answer: Promise<Answer>;
  abort: (reason: unknown) => void;
}

/** Knows the calls that run, and can cancel all of them. */
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

  /** Cancels the calls that run, and those that are started later. */
  cancelAll(): void {
    this.#isCancelled = true;
    for (const controller of this.#calls.keys()) controller.abort();
  }

  /** Ends the wait for the calls that run, without cancelling them: the client has hung up. */
  clientHungUp(): void {
    for (const controller of this.#calls.keys()) controller.abort(clientGone);
  }

  /** Resolves when the calls that run now have ended, whether they failed or not. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls.values());
  }
}
