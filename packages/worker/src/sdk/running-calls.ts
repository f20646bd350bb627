import type { CancelSignal } from '@signalbox/client';
import { Cancellation } from '@signalbox/protocol/internal';
import { clientGone } from '../tools/face-tools.ts';

/** A call that runs. `abort` cancels it. */
export interface StartedCall<Answer> {
  answer: Promise<Answer>;
  abort: (reason: unknown) => void;
}

interface RunningCall {
  cancellation: Cancellation;
  answer: Promise<unknown>;
  /** The place of the call among those that run. */
  at: number;
}

/** Knows the running calls, and can cancel all of them. */
export class RunningCalls {
  readonly #calls: RunningCall[] = [];
  #isCancelled = false;

  /** Starts a call with a signal of its own, which `abort` and {@link cancelAll} abort. */
  start<Answer>(work: (signal: CancelSignal) => Promise<Answer>): StartedCall<Answer> {
    const cancellation = new Cancellation();
    if (this.#isCancelled) cancellation.abort();
    const call: RunningCall = { cancellation, answer: Promise.resolve(), at: this.#calls.length };
    this.#calls.push(call);
    const answer = this.#run(call, work);
    call.answer = answer;
    return { answer, abort: (reason) => cancellation.abort(reason) };
  }

  /** Cancels the running calls, and those that are started later. */
  cancelAll(): void {
    this.#isCancelled = true;
    for (const { cancellation } of [...this.#calls]) cancellation.abort();
  }

  /** Ends the wait for the running calls without cancelling them: the client has hung up. */
  clientHungUp(): void {
    for (const { cancellation } of [...this.#calls]) cancellation.abort(clientGone);
  }

  /** Resolves when the present calls have ended, even if they failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#calls.map(({ answer }) => answer));
  }

  async #run<Answer>(call: RunningCall, work: (signal: CancelSignal) => Promise<Answer>): Promise<Answer> {
    try {
      return await work(call.cancellation);
    } finally {
      this.#forget(call);
    }
  }

  /** Puts the last call in the place of one that has ended. */
  #forget(call: RunningCall): void {
    const last = this.#calls.pop()!;
    if (last === call) return;
    this.#calls[call.at] = last;
    last.at = call.at;
  }
}
