import type { CallRecord, TailNotice } from '@signalbox/protocol';
import { FollowedCalls } from './followed-calls.ts';

/** The time in milliseconds for which events are collected before one question is asked about all of them. */
const gatherMs = 100;
/** The time in milliseconds between questions about a call that waits for its turn. */
const waitingMs = 1000;
/** The largest difference between the clocks of broker and orchestrator that is allowed for, in milliseconds. */
const clockSkewMs = 60_000;

/** Asks the orchestrator for a watch, and receives the answers. */
export interface CallWatchDeps {
  /** Asks for the calls that the orchestrator received since a time in epoch milliseconds. */
  ask: (since: number) => Promise<readonly CallRecord[]>;
  /** Called with each call in a state that was not reported before. */
  onChange: (call: CallRecord) => void;
  /** Called when the orchestrator could not be asked. */
  onFailure: (error: unknown) => void;
}

/** Asks the orchestrator about calls whose requests or replies were seen, one question at a time. */
export class CallWatch implements Disposable {
  readonly #deps: CallWatchDeps;
  readonly #followed = new FollowedCalls();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #isEnded = false;
  /** True if an event was seen since the running question was asked. */
  #isBehind = false;

  constructor(deps: CallWatchDeps) {
    this.#deps = deps;
  }

  /** Records an event, and asks soon if the orchestrator may know more now. */
  observe(event: TailNotice): void {
    if (!this.#followed.observe(event)) return;
    if (this.#isAsking) this.#isBehind = true;
    else this.#askIn(gatherMs);
  }

  [Symbol.dispose](): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  #askIn(ms: number): void {
    if (this.#isEnded) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    const { since } = this.#followed;
    if (since === undefined) return;
    const answered = this.#followed.answered();
    this.#isAsking = true;
    this.#isBehind = false;
    try {
      const records = await this.#deps.ask(Math.max(0, since - clockSkewMs));
      if (this.#isEnded) return;
      for (const call of this.#followed.changed(records)) this.#deps.onChange(call);
    } catch (error) {
      if (this.#isEnded) return;
      this.#deps.onFailure(error);
    } finally {
      this.#isAsking = false;
    }
    this.#followed.forget(answered);
    if (this.#isBehind) this.#askIn(gatherMs);
    else if (this.#followed.someAreQueued) this.#askIn(waitingMs);
  }
}
