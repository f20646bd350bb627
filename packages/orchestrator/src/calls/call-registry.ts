import type { CallRecord, CallStatus } from '@signalbox/protocol';
import { PassingList } from '@signalbox/serving';
import type { CallKey, JournalEntry } from '@signalbox/store/journal';
import { sentReply } from '../tasks/task-call.ts';
import { type EndedCallLimits, EndedCalls } from './ended-calls.ts';
import { type CallName, type StoppableRequest, TrackedCall, type TrackedCallDeps } from './tracked-call.ts';

const defaultLimits: EndedCallLimits = { calls: 1_000, replyBytes: 16 * 1024 * 1024 };

/**
 * Holds the calls that wait or run, and the newest ended ones, whether or not they are safe to repeat. Its memory is bounded and ends with
 * the process. Calls are added all the time and rarely looked up, so there is no index: a query goes through all calls.
 */
export class CallRegistry {
  readonly #callDeps: TrackedCallDeps;
  readonly #active = new PassingList<TrackedCall>();
  readonly #ended: EndedCalls;
  readonly #since: number;

  /** `now` is in epoch milliseconds. */
  constructor(now: () => number, limits: Partial<EndedCallLimits> = {}) {
    this.#since = now();
    this.#callDeps = { now, onLeave: (call) => this.#leave(call) };
    this.#ended = new EndedCalls({ ...defaultLimits, ...limits });
  }

  /** Adds a call. `earlier` is the journal's entry of its start by a process that has ended. */
  add(call: CallName, earlier?: JournalEntry, request?: StoppableRequest): TrackedCall {
    const tracked = new TrackedCall(call, { earlier, request }, this.#callDeps);
    tracked.place = this.#active.add(tracked);
    return tracked;
  }

  /** The time since which all calls are known, in epoch milliseconds. */
  get knownSince(): number {
    return Math.max(this.#since, this.#ended.forgottenUpTo + 1);
  }

  /** Returns the status of one call; `undefined` if this process does not know it. */
  status(key: CallKey): CallStatus | undefined {
    for (const call of this.#active) {
      if (!call.hasKey(key)) continue;
      const { state, approval = '', hold = '' } = call;
      if (state === 'held') return { state, hold };
      return state === 'awaiting_approval' ? { state, approval } : { state };
    }
    const ended = this.#ended.newestFirst().find((call) => call.hasKey(key));
    if (ended?.outcome === undefined) return undefined;
    const { outcome, replyText } = ended;
    return {
      state: 'finished',
      outcome,
      ...(replyText !== undefined && { reply: sentReply(replyText) }),
    };
  }

  /** Returns a call that waits or runs; `undefined` if no such call has this key. */
  find(key: CallKey): TrackedCall | undefined {
    return [...this.#active].find((call) => call.hasKey(key));
  }

  /** Returns a running call; `undefined` if none has this key. */
  running(key: CallKey): TrackedCall | undefined {
    const call = this.find(key);
    return call?.state === 'running' ? call : undefined;
  }

  /** Returns a call that waits, runs or has ended; `undefined` if this process does not know it. */
  any(key: CallKey): TrackedCall | undefined {
    return this.find(key) ?? this.#ended.newestFirst().find((call) => call.hasKey(key));
  }

  /** Returns the role and the tool of one call; `undefined` if this process does not know it. */
  nameOf(key: CallKey): CallName | undefined {
    return this.any(key)?.name;
  }

  /** Lists the calls that wait or run: those of one agent, or of all. */
  active(agent?: string): CallRecord[] {
    return [...this.#active].filter(isOf(agent)).map((call) => call.toRecord());
  }

  /** Lists the calls that ended last, of one agent or of all, oldest first. A request that was answered more than once appears once. */
  recent(agent?: string): CallRecord[] {
    const records = new Map<string, CallRecord>();
    for (const call of this.#ended.newestFirst().filter(isOf(agent))) {
      const key = `${call.name.agent} ${call.name.requestId}`;
      if (!records.has(key)) records.set(key, call.toRecord());
    }
    return [...records.values()].reverse();
  }

  #leave(call: TrackedCall): void {
    if (call.place) this.#active.remove(call.place);
    call.place = undefined;
    if (call.outcome !== undefined) this.#ended.add(call);
  }
}

function isOf(agent: string | undefined): (call: TrackedCall) => boolean {
  return (call) => agent === undefined || call.name.agent === agent;
}
