import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Budget, CallBudgets } from './call-budgets.ts';
import { CallWindow } from './call-window.ts';

/** How many counted requests are remembered: more than the inbox's window lets wait for their acks. */
const rememberedRequests = 4096;

/** Whose call it is. `request` is the same for every delivery of one request, and for nothing else. */
export interface BudgetedCall {
  agent: string;
  role: string;
  request?: string | undefined;
}

/** A call within its budgets, which `takeBack` uncounts if it isn't made after all; or why it may not be made. */
export type BudgetTurn =
  | { takeBack: () => void; refusal?: undefined }
  | { takeBack?: undefined; refusal: ToolCallError };

const uncounted: BudgetTurn = { takeBack: () => {} };

interface Purse {
  budget: Budget;
  windows: Map<string, CallWindow>;
  key: string;
  window: CallWindow;
  /** Completes "… used up". */
  whose: string;
}

/**
 * Counts calls against the budgets of their worker and of its role. Workers whose calls are all too old to matter are
 * forgotten. `now` is in monotonic milliseconds.
 */
export class BudgetLedger {
  readonly #now: () => number;
  #budgets: CallBudgets;
  /** The one that called longest ago first. */
  readonly #workers = new Map<string, CallWindow>();
  readonly #roles = new Map<string, CallWindow>();
  readonly #counted = new Set<string>();

  constructor(budgets: CallBudgets, now: () => number) {
    this.#budgets = budgets;
    this.#now = now;
  }

  /** Replaces the budgets; what was called already counts against the new ones. */
  setBudgets(budgets: CallBudgets): void {
    this.#budgets = budgets;
  }

  /** Workers and roles that it remembers calls of. */
  get size(): number {
    return this.#workers.size + this.#roles.size;
  }

  /** Counts a call once, however often its request is delivered. A refused one counts nowhere. */
  take(call: BudgetedCall): BudgetTurn {
    const { request } = call;
    const purses = this.#pursesOf(call);
    // Where nothing is limited, nothing is remembered.
    if (purses.length === 0 && this.size === 0) return uncounted;
    if (request !== undefined && this.#counted.has(request)) return uncounted;
    const now = this.#now();
    for (const windows of [this.#workers, this.#roles]) forgetIdle(windows, now);
    const waits = purses.map(({ window, budget }) => window.waitMs(budget, now));
    const longest = Math.max(0, ...waits);
    if (longest > 0) return { refusal: usedUp(purses[waits.indexOf(longest)]!, longest) };
    const takeBacks = purses.map((purse) => count(purse, now));
    if (request !== undefined && purses.length > 0) this.#remember(request);
    return {
      takeBack: () => {
        if (request !== undefined) this.#counted.delete(request);
        for (const takeBack of takeBacks) takeBack();
      },
    };
  }

  #pursesOf({ agent, role }: BudgetedCall): Purse[] {
    const { perWorker, roles = {}, perRole = {} } = this.#budgets;
    const purse = (windows: Map<string, CallWindow>, key: string, budget: Budget, whose: string): Purse => {
      return { budget, windows, key, window: windows.get(key) ?? new CallWindow(), whose };
    };
    const own = Object.hasOwn(roles, role) ? roles[role] : perWorker;
    const shared = Object.hasOwn(perRole, role) ? perRole[role] : undefined;
    if (!own && !shared) return [];
    return [
      ...(own ? [purse(this.#workers, agent, own, `'${agent}' has`)] : []),
      ...(shared ? [purse(this.#roles, role, shared, `the workers of role '${role}' have together`)] : []),
    ];
  }

  #remember(request: string): void {
    this.#counted.add(request);
    if (this.#counted.size <= rememberedRequests) return;
    for (const oldest of this.#counted) {
      this.#counted.delete(oldest);
      return;
    }
  }
}

/** Counts a call and puts its window last, among those used just now. */
function count({ windows, key, window, budget }: Purse, now: number): () => void {
  windows.delete(key);
  windows.set(key, window);
  return window.count(budget, now);
}

function forgetIdle(windows: Map<string, CallWindow>, now: number): void {
  for (const [key, window] of windows) {
    if (!window.isIdle(now)) return;
    windows.delete(key);
  }
}

function usedUp({ budget, whose }: Purse, waitMs: number): ToolCallError {
  const { calls, windowMs } = budget;
  const amount = calls === 1 ? '1 call' : `${calls} calls`;
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return toolCallError('quota_exceeded', `${whose} used up the budget of ${amount} in ${windowMs / 1000} s`, {
    mayHaveRun: false,
    retryAfterSeconds: seconds,
    hint: `This call did not run. Try it again in ${seconds} s, and make fewer calls.`,
  });
}
