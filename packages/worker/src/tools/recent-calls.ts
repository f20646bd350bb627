import { asksForInput, type RoundResult } from '../executor/call-result.ts';

/** A call of a hosted tool, as this face saw it. */
export interface RecentCall {
  callId: string;
  tool: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** `ok`, `tool_error` (the tool itself said so), `input_required` (it asked back), or the code of the error. */
  state: 'running' | (string & {});
  /** While it runs. */
  result: Promise<RoundResult> | undefined;
}

const remembered = 20;

/** The last calls of one agent, so that it can ask what became of them. Their results stay with the orchestrator. */
export class RecentCalls {
  readonly #calls = new Map<string, RecentCall>();
  readonly #wallNow: () => number;

  /** `wallNow` in epoch milliseconds. */
  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

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

  /** It was no call after all: nobody has such a tool. */
  forget(callId: string): void {
    this.#calls.delete(callId);
  }

  find(callId: string): RecentCall | undefined {
    return this.#calls.get(callId);
  }

  /** Newest first. */
  list(): RecentCall[] {
    return [...this.#calls.values()].reverse();
  }
}

function stateOf({ result, error }: RoundResult): string {
  if (error) return error.code;
  if (asksForInput(result)) return 'input_required';
  return result.isError === true ? 'tool_error' : 'ok';
}
