import { isInputRequired } from '@signalbox/protocol';
import type { RoundResult } from '../executor/call-result.ts';

/** A call of a hosted tool by this agent. */
export interface RecentCall {
  callId: string;
  tool: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** `running`, `ok`, `tool_error` (a result with `isError`), `input_required`, or the code of the error. */
  state: 'running' | (string & {});
  /** Set while it runs. */
  result: Promise<RoundResult> | undefined;
}

const remembered = 20;

/** Remembers the last calls of one agent, so that it can ask what became of them. The orchestrator keeps their results. */
export class RecentCalls {
  readonly #calls = new Map<string, RecentCall>();
  readonly #wallNow: () => number;

  /** `wallNow` in epoch milliseconds. */
  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  /** Remembers a call that has begun. */
  add(callId: string, tool: string, result: Promise<RoundResult>): void {
    const call: RecentCall = { callId, tool, startedAt: this.#wallNow(), state: 'running', result };
    this.#calls.set(callId, call);
    if (this.#calls.size > remembered) {
      const [oldest] = this.#calls.keys();
      this.#calls.delete(oldest!);
    }
    const ended = (state: string) => {
      call.state = state;
      call.result = undefined;
    };
    result.then(
      (one) => ended(stateOf(one)),
      () => ended('internal'),
    );
  }

  /** Forgets a call of a tool that there is not. */
  forget(callId: string): void {
    this.#calls.delete(callId);
  }

  /** Returns a remembered call. */
  find(callId: string): RecentCall | undefined {
    return this.#calls.get(callId);
  }

  /** Returns the calls, newest first. */
  list(): RecentCall[] {
    return [...this.#calls.values()].reverse();
  }
}

function stateOf({ result, error }: RoundResult): string {
  if (error) return error.code;
  if (isInputRequired(result)) return 'input_required';
  return result.isError === true ? 'tool_error' : 'ok';
}
