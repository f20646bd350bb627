import { type FaceLimits, SharedRoom, type Shortage } from '@signalbox/serving';
import type { HttpRefusal } from '../sdk/http-refusal.ts';

type Unit = 'requests' | 'bytes' | 'nodes';
type Amounts = Partial<Record<Unit, number>>;

const names: Readonly<Record<Unit, string>> = {
  requests: 'requests',
  bytes: 'bytes of requests',
  nodes: 'JSON values and names of requests',
};

/** Bounds the memory of the requests that a face reads or answers: of each agent, and of all together. */
export class FaceRoom {
  readonly #room: SharedRoom<Unit>;

  constructor(limits: FaceLimits) {
    this.#room = new SharedRoom({
      requests: { each: limits.requestsPerAgent, all: limits.requests },
      bytes: { each: limits.bytesPerAgent, all: limits.bytes },
      nodes: { each: limits.nodesPerAgent, all: limits.nodes },
    });
  }

  /** Makes the slot of one request of an agent; it takes no memory yet. */
  slot(agent: string): FaceSlot {
    return new FaceSlot(this.#room, agent);
  }
}

/** The memory that one request takes until its answer has left. */
export class FaceSlot {
  readonly #room: SharedRoom<Unit>;
  readonly #agent: string;
  readonly #taken: Record<Unit, number> = { requests: 0, bytes: 0, nodes: 0 };

  constructor(room: SharedRoom<Unit>, agent: string) {
    this.#room = room;
    this.#agent = agent;
  }

  /** Takes more memory, or returns the refusal if there is none. */
  take(amounts: Amounts): HttpRefusal | undefined {
    const shortage = this.#room.take(this.#agent, amounts);
    if (shortage) return refusalOf(this.#agent, shortage);
    for (const unit of Object.keys(amounts) as Unit[]) this.#taken[unit] += amounts[unit] ?? 0;
    return undefined;
  }

  /** Takes memory that is in use already, without a limit; a negative amount is given back. */
  hold(amounts: Amounts): void {
    this.#room.hold(this.#agent, amounts);
    for (const unit of Object.keys(amounts) as Unit[]) this.#taken[unit] += amounts[unit] ?? 0;
  }

  /** Takes the missing part of an amount of one unit, or returns the refusal if there is no memory. */
  takeUpTo(unit: Unit, amount: number): HttpRefusal | undefined {
    return this.take({ [unit]: amount - this.#taken[unit] });
  }

  [Symbol.dispose](): void {
    this.#room.giveBack(this.#agent, this.#taken);
    for (const unit of Object.keys(this.#taken) as Unit[]) this.#taken[unit] = 0;
  }
}

function refusalOf(agent: string, { unit, of, limit, isFinal }: Shortage<Unit>): HttpRefusal {
  const setting = `worker.limits.${of === 'each' ? `${unit}PerAgent` : unit}`;
  const what = names[unit];
  if (isFinal) {
    const message = `this request has more than ${limit} ${what.replace(/ of requests$/, '')}; send less at once, or raise ${setting}`;
    return { status: 413, message };
  }
  const headers = { 'retry-after': '1' };
  if (of === 'each') {
    const message = `agent '${agent}' has ${limit} ${what} under way here; wait for answers, or raise ${setting}`;
    return { status: 429, message, headers };
  }
  const message = `this face is full: its agents have ${limit} ${what} under way, or nearly so; try again later, or raise ${setting}`;
  return { status: 503, message, headers };
}
