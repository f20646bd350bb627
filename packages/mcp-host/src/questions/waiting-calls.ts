import { randomBytes } from 'node:crypto';
import { runningCallState } from '@signalbox/protocol';
import { SharedRoom } from '@signalbox/serving';
import type { CallTarget } from '../calls/call-target.ts';
import type { ServerAnswer, ToolRequest } from '../server-connection.ts';

/** Identifies a call: only the same call, by the same agent, continues it. */
export interface CallIdentity {
  server: string;
  agent: string | undefined;
  /** The name of the tool, or the method of another request. */
  name: string;
  args: Record<string, unknown>;
}

/** A call that waits for answers of its caller. */
export interface WaitingCall {
  readonly agent: string | undefined;
  /** Tells whether an identity is that of this call. */
  is(identity: CallIdentity): boolean;
  /**
   * Passes the answers of the caller on to the server, and waits until the server has answered or asks more. Answers without a question are
   * ignored, as MCP requires. Never rejects.
   */
  goOn(responses: Record<string, unknown>, request: ToolRequest): Promise<ServerAnswer>;
  /** Ends the call: the server is told that nobody waits any more. */
  stop(reason: unknown): void;
}

const MiB = 1024 * 1024;
/** The most questions that may wait for their answers, and the most characters that their calls hold: of one agent, and of all agents. */
const roomLimits = {
  questions: { each: 64, all: 1024 },
  characters: { each: 4 * MiB, all: 64 * MiB },
};

/** The calls of a host that wait for answers of their callers, each under a `requestState` that nobody can guess. */
export class WaitingCalls {
  /** Counts the memory of the waiting calls: their questions, their arguments, and results that came early. */
  readonly room = new SharedRoom(roomLimits);
  /** The instances that the calls run on. They may be those of a server whose configuration was replaced meanwhile. */
  readonly targets = new WeakMap<WaitingCall, CallTarget>();
  readonly #calls = new Map<string, WaitingCall>();

  /** Adds a call. Returns the state with which its caller continues it. */
  add(call: WaitingCall): string {
    const state = runningCallState(randomBytes(18).toString('base64url'));
    this.#calls.set(state, call);
    return state;
  }

  /** Returns the call with that state, unless it continues already or no longer waits. */
  find(state: string): WaitingCall | undefined {
    return this.#calls.get(state);
  }

  /** Ends all calls, because the host is shut down. */
  close(): void {
    for (const call of [...this.#calls.values()]) call.stop('the gateway is shut down');
  }

  /** Removes a call that continues or has ended. */
  remove(state: string): void {
    this.#calls.delete(state);
  }
}
