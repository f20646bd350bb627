import type { ToolCallError } from '@signalbox/protocol';
import { BudgetLedger } from '../budgets/budget-ledger.ts';
import { asksTooOften, tooManyWait } from './approval-errors.ts';

/** How many calls may wait for decisions: of one agent, and of all. */
export interface ApprovalLimits {
  perAgent: number;
  all: number;
}

/** The bounds of calls that wait; each of them keeps a place of the inbox's window. */
export const defaultApprovalLimits: ApprovalLimits = { perAgent: 16, all: 512 };

/** The questions of one agent in a minute. More would bury those of others, and push decided ones out of the journal. */
const asked = { calls: 120, windowMs: 60_000 };

/** Counts the requests that wait for decisions, and how often agents ask. */
export class WaitingPlaces {
  readonly #limits: ApprovalLimits;
  readonly #asked: BudgetLedger;
  readonly #ofAgents = new Map<string, number>();
  #all = 0;

  /** `monotonic` is in milliseconds. */
  constructor(limits: ApprovalLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#asked = new BudgetLedger({ perWorker: asked }, monotonic);
  }

  /** Takes a place for a request that waits. */
  take(agent: string): void {
    this.#count(agent, 1);
  }

  giveBack(agent: string): void {
    this.#count(agent, -1);
  }

  /** Returns why another request of an agent may not wait; `undefined` if it may. */
  refusalOf(agent: string): ToolCallError | undefined {
    const { perAgent, all } = this.#limits;
    if ((this.#ofAgents.get(agent) ?? 0) >= perAgent) return tooManyWait(agent, 'agent', perAgent);
    return this.#all >= all ? tooManyWait(agent, 'all', all) : undefined;
  }

  /** Counts a question to people. Returns why the agent may not ask it now; `undefined` if it may. */
  refusalToAsk({ agent, role }: { agent: string; role: string }): ToolCallError | undefined {
    const full = this.refusalOf(agent);
    if (full) return full;
    const { refusal } = this.#asked.take({ agent, role });
    return refusal && asksTooOften(agent, asked.calls, refusal.retry_after_seconds ?? 1);
  }

  #count(agent: string, by: 1 | -1): void {
    this.#all += by;
    const count = (this.#ofAgents.get(agent) ?? 0) + by;
    if (count > 0) this.#ofAgents.set(agent, count);
    else this.#ofAgents.delete(agent);
  }
}
