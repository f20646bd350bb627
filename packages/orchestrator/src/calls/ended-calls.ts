import type { TrackedCall } from './tracked-call.ts';

/** Bounds what {@link EndedCalls} keeps: `replyBytes` counts the texts of all replies. */
export interface EndedCallLimits {
  calls: number;
  replyBytes: number;
}

/** A call, and its number in the order in which all calls ended. */
interface KeptCall {
  readonly call: TrackedCall;
  readonly number: number;
}

/** The ended calls of one agent, oldest first. */
interface AgentCalls {
  readonly calls: KeptCall[];
  replyBytes: number;
}

/**
 * Keeps the calls that ended last. If there is no room, the agent with the most kept calls or reply bytes loses its oldest, so that no
 * agent pushes out the calls or replies of an agent with fewer.
 */
export class EndedCalls {
  readonly #limits: EndedCallLimits;
  readonly #byAgent = new Map<string, AgentCalls>();
  #size = 0;
  #ended = 0;
  #replyBytes = 0;
  #forgottenUpTo = Number.NEGATIVE_INFINITY;

  constructor(limits: EndedCallLimits) {
    this.#limits = limits;
  }

  /** Keeps a call that has ended. */
  add(call: TrackedCall): void {
    const { agent } = call.name;
    const own = this.#byAgent.get(agent) ?? { calls: [], replyBytes: 0 };
    this.#byAgent.set(agent, own);
    own.calls.push({ call, number: ++this.#ended });
    this.#size++;
    this.#countReply(own, call, 1);
    if (this.#size > this.#limits.calls) this.#forgetOldest(this.#withMost(({ calls }) => calls.length));
    while (this.#replyBytes > this.#limits.replyBytes)
      this.#dropOldestReply(this.#withMost((one) => one.replyBytes));
  }

  /** The time of the newest call that is not kept any more, in epoch milliseconds. */
  get forgottenUpTo(): number {
    return this.#forgottenUpTo;
  }

  /** Returns the kept calls, newest first. */
  newestFirst(): TrackedCall[] {
    const all = [...this.#byAgent.values()].flatMap(({ calls }) => calls);
    return all.sort((a, b) => b.number - a.number).map(({ call }) => call);
  }

  /** Returns the agent with the largest amount. Of agents with equal amounts, it is the one that was added first. */
  #withMost(amountOf: (one: AgentCalls) => number): AgentCalls {
    let [most] = this.#byAgent.values();
    for (const one of this.#byAgent.values()) if (amountOf(one) > amountOf(most!)) most = one;
    return most!;
  }

  #forgetOldest(one: AgentCalls): void {
    const { call } = one.calls.shift()!;
    this.#size--;
    this.#forgottenUpTo = Math.max(this.#forgottenUpTo, call.receivedAt);
    this.#dropReply(one, call);
    if (one.calls.length === 0) this.#byAgent.delete(call.name.agent);
  }

  #dropOldestReply(one: AgentCalls): void {
    this.#dropReply(one, one.calls.find(({ call }) => call.replyText !== undefined)!.call);
  }

  #dropReply(one: AgentCalls, call: TrackedCall): void {
    this.#countReply(one, call, -1);
    call.replyText = undefined;
  }

  #countReply(one: AgentCalls, { replyText = '' }: TrackedCall, sign: 1 | -1): void {
    one.replyBytes += sign * replyText.length;
    this.#replyBytes += sign * replyText.length;
  }
}
