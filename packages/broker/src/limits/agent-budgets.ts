import type { Limits } from '@signalbox/protocol';
import { Budget } from './budget.ts';
import { RateLimit } from './rate-limit.ts';
import type { RoleLimits } from './role-limits.ts';

/** The time between two notices to one agent that it is over its budget. */
const noticeEveryMs = 10_000;

/** What one agent may use, over all its connections and tokens. */
export class AgentBudget {
  /** Counts messages. A message over it is refused. */
  readonly messages: RateLimit;
  /** Counts the costs of frames. Connections of an agent over it are read later. */
  readonly frames: Budget;
  /** Counts the bytes of WebSocket messages. Connections of an agent over it are read later. */
  readonly bytes: Budget;
  /** Its connections that are open. */
  connections = 0;
  #noticedAt = Number.NEGATIVE_INFINITY;

  constructor({ rates }: Limits, now: number) {
    this.messages = new RateLimit(rates.messages, rates.messagesBurst, now);
    this.frames = new Budget(rates.frames, rates.framesBurst, now);
    this.bytes = new Budget(rates.bytes, rates.bytesBurst, now);
  }

  /** True if its connections may have to wait; {@link waitMs} tells. */
  get isOverdrawn(): boolean {
    return this.frames.isOverdrawn || this.bytes.isOverdrawn;
  }

  /** Returns the milliseconds until frames of its connections are handled again, or 0. */
  waitMs(now: number): number {
    return Math.max(this.frames.waitMs(now), this.bytes.waitMs(now));
  }

  /** True if it was not told lately that it is over its budget. It then counts as told. */
  isNoticeDue(now: number): boolean {
    if (now - this.#noticedAt < noticeEveryMs) return false;
    this.#noticedAt = now;
    return true;
  }

  /** True if it could be forgotten and made anew without a difference. */
  isUnused(now: number): boolean {
    return (
      this.connections === 0 &&
      now - this.#noticedAt >= noticeEveryMs &&
      this.messages.isFull(now) &&
      this.frames.isFull(now) &&
      this.bytes.isFull(now)
    );
  }
}

/**
 * Keeps the budget of every agent that is connected, and of those that left with a used one: a new connection does not refill it.
 * An agent whose tokens have several roles has a budget for each.
 */
export class AgentBudgets {
  readonly #budgets = new Map<string, AgentBudget>();
  readonly #limits: RoleLimits;
  readonly #monotonic: () => number;

  constructor(limits: RoleLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#monotonic = monotonic;
  }

  /** The number of budgets that are kept. */
  get size(): number {
    return this.#budgets.size;
  }

  /** Returns the budget of an agent, for one connection more. The connection gives it back when it ends. */
  take(agent: string, role: string): AgentBudget {
    const key = `${agent} ${role}`;
    const budget = this.#budgets.get(key) ?? new AgentBudget(this.#limits.of(role), this.#monotonic());
    this.#budgets.set(key, budget);
    budget.connections++;
    return budget;
  }

  /** Forgets the budgets that nobody uses and that are full again. */
  prune(): void {
    const now = this.#monotonic();
    for (const [key, budget] of this.#budgets) if (budget.isUnused(now)) this.#budgets.delete(key);
  }
}
