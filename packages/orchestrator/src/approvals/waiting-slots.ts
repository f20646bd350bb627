import type { ToolCallError } from '@signalbox/protocol';
import { BudgetLedger } from '../budgets/budget-ledger.ts';
import { asksTooOften, tooManyWait } from './approval-errors.ts';

/** The most calls that may wait for decisions: of one agent, of the agents of one minting token, and of all agents. */
export interface ApprovalLimits {
  perAgent: number;
  perMinter: number;
  all: number;
}

/** The default limits of waiting calls. Each waiting call keeps a slot of the inbox's window. */
export const defaultApprovalLimits: ApprovalLimits = { perAgent: 16, perMinter: 128, all: 512 };

/** The most questions of one agent in a minute. More would bury those of others, and push decided ones out of the journal. */
const asked = { calls: 120, windowMs: 60_000 };

/** Counts the requests that wait for decisions, and the questions of each agent. */
export class WaitingSlots {
  readonly #limits: ApprovalLimits;
  readonly #asked: BudgetLedger;
  readonly #ofAgents = new Map<string, number>();
  /** The minting tokens of agents that have calls here, if they are known. */
  readonly #minters = new Map<string, string>();
  #all = 0;

  /** `monotonic` returns monotonic milliseconds. */
  constructor(limits: ApprovalLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#asked = new BudgetLedger({ perWorker: asked }, monotonic);
  }

  /** Takes a slot for a waiting request. `minter` is the minting token that issued the agent's token. */
  take(agent: string, minter?: string): void {
    this.#count(agent, 1);
    this.belongs(agent, minter);
  }

  /** Notes the minting token that issued the token of an agent whose requests wait already. */
  belongs(agent: string, minter: string | undefined): void {
    if (minter !== undefined && this.#ofAgents.has(agent)) this.#minters.set(agent, minter);
  }

  giveBack(agent: string): void {
    this.#count(agent, -1);
  }

  /** Returns the reason why another request of an agent may not wait; `undefined` if it may. */
  refusalOf(agent: string, minter?: string): ToolCallError | undefined {
    const { perAgent, perMinter, all } = this.#limits;
    if ((this.#ofAgents.get(agent) ?? 0) >= perAgent) return tooManyWait(agent, 'agent', perAgent);
    if (minter !== undefined && this.#countOf(minter) >= perMinter)
      return tooManyWait(agent, 'minter', perMinter);
    return this.#all >= all ? tooManyWait(agent, 'all', all) : undefined;
  }

  /** Counts a question to people. Returns the reason why the agent may not ask it now; `undefined` if it may. */
  refusalToAsk(
    { agent, role }: { agent: string; role: string },
    minter: string | undefined,
  ): ToolCallError | undefined {
    const full = this.refusalOf(agent, minter);
    if (full) return full;
    const { refusal } = this.#asked.take({ agent, role });
    return refusal && asksTooOften(agent, asked.calls, refusal.retry_after_seconds ?? 1);
  }

  #count(agent: string, by: 1 | -1): void {
    this.#all += by;
    const count = (this.#ofAgents.get(agent) ?? 0) + by;
    if (count > 0) this.#ofAgents.set(agent, count);
    else {
      this.#ofAgents.delete(agent);
      this.#minters.delete(agent);
    }
  }

  #countOf(minter: string): number {
    let count = 0;
    for (const [agent, of] of this.#minters) if (of === minter) count += this.#ofAgents.get(agent) ?? 0;
    return count;
  }
}
