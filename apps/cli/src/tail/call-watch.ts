import type { CallRecord } from '@signalbox/protocol';
import { FollowedCalls } from './followed-calls.ts';
import type { Notice } from './tail-event.ts';

/** What happens in this time is asked about at once. */
const gatherMs = 100;
/** How often a call that waits for its turn is asked about. */
const waitingMs = 1000;
/** The clocks of broker and orchestrator may differ by this much. */
const clockSkewMs = 60_000;

export interface CallWatchPorts {
  /** The calls that the orchestrator received since then, in epoch milliseconds. */
  ask: (since: number) => Promise<readonly CallRecord[]>;
  onNews: (call: CallRecord) => void;
  /** Told when the orchestrator could not be asked. */
  onFailure: (error: unknown) => void;
}

/** Asks the orchestrator about calls whose requests or replies were seen, one question at a time. */
export class CallWatch implements Disposable {
  readonly #ports: CallWatchPorts;
  readonly #followed = new FollowedCalls();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;
  #isEnded = false;
  /** Something was seen since the running question was asked. */
  #isBehind = false;

  constructor(ports: CallWatchPorts) {
    this.#ports = ports;
  }

  saw(notice: Notice): void {
    if (!this.#followed.saw(notice)) return;
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
      const records = await this.#ports.ask(Math.max(0, since - clockSkewMs));
      if (this.#isEnded) return;
      for (const call of this.#followed.news(records)) this.#ports.onNews(call);
    } catch (error) {
      if (this.#isEnded) return;
      this.#ports.onFailure(error);
    } finally {
      this.#isAsking = false;
    }
    this.#followed.forget(answered);
    if (this.#isBehind) this.#askIn(gatherMs);
    else if (this.#followed.someWait) this.#askIn(waitingMs);
  }
}
