import type { CallRecord } from '@signalbox/protocol';
import { FollowedCalls } from './followed-calls.ts';
import type { Notice } from './tail-event.ts';

/** Events within this time are asked about together. */
const gatherMs = 100;
/** The time between questions about a call that waits for its turn. */
const waitingMs = 1000;
/** The largest difference between the clocks of broker and orchestrator that is allowed for. */
const clockSkewMs = 60_000;

/** The orchestrator that a watch asks, and who is told of the answers. */
export interface CallWatchDeps {
  /** Asks for the calls that the orchestrator received since a time in epoch milliseconds. */
  ask: (since: number) => Promise<readonly CallRecord[]>;
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
  /** Something was seen since the running question was asked. */
  #isBehind = false;

  constructor(deps: CallWatchDeps) {
    this.#deps = deps;
  }

  observe(notice: Notice): void {
    if (!this.#followed.observe(notice)) return;
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
