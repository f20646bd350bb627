import { PassingMap } from '@signalbox/serving';
import type { RoundResult } from '../executor/call-result.ts';

/** A call of a hosted tool that this process has made and that has not ended. */
export interface CallUnderWay {
  tool: string;
  result: Promise<RoundResult>;
  /** Returns the id of the approval for which the call waits now. */
  approval: () => string | undefined;
}

/** Knows the calls of one agent that run in this process, so that one can be waited for. The orchestrator knows all others. */
export class CallsUnderWay {
  readonly #calls = new PassingMap<CallUnderWay>();

  /** Adds a call that has begun. */
  add(callId: string, call: CallUnderWay): void {
    this.#calls.add(callId, call);
  }

  /** Removes a call that has ended. */
  remove(callId: string, call: CallUnderWay): void {
    if (this.#calls.get(callId) === call) this.#calls.take(callId);
  }

  /** Returns a call that has not ended. */
  find(callId: string): CallUnderWay | undefined {
    return this.#calls.get(callId);
  }
}
