import { type BudgetUse, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Budget, CallBudgets } from './call-budgets.ts';
import { CallWindow } from './call-window.ts';

/** The number of counted requests that are remembered. It is more than the inbox's window can hold un-acked. */
const rememberedRequests = 4096;

/** The caller of a call. `request` identifies the request: it is the same for every delivery of it. */
export interface BudgetedCall {
  agent: string;
  role: string;
  request?: string | undefined;
}

/** Calls that an earlier process of the orchestrator has counted. `agoMs` is the time since then, in milliseconds. */
export interface EarlierCalls {
  agent: string;
  role: string;
  agoMs: number;
  calls: number;
}

/**
 * The decision on a call. A call within its budgets is counted; `takeBack` undoes that if the call is not made after all. Any other call is
 * refused with an error for its caller.
 */
export type BudgetDecision =
  | { takeBack: () => void; refusal?: undefined }
  | { takeBack?: undefined; refusal: ToolCallError };

const uncounted: BudgetDecision = { takeBack: () => {} };

/** One budget that a call counts against, with the window that counts it. */
interface AppliedBudget {
  budget: Budget;
  windows: Map<string, CallWindow>;
  key: string;
  window: CallWindow;
  /** The beginning of the sentence that ends "… used up the budget". */
  subject: string;
}

/**
 * Counts calls against the budgets of their worker and of its role. It forgets workers and roles whose calls are all
 * too old to matter.
 */
export class BudgetLedger {
  readonly #now: () => number;
  #budgets: CallBudgets;
  /** The calls of each worker; the worker whose last call is the oldest comes first. */
  readonly #workers = new Map<string, CallWindow>();
  readonly #roles = new Map<string, CallWindow>();
  readonly #counted = new Set<string>();

  /** `now` is in monotonic milliseconds. */
  constructor(budgets: CallBudgets, now: () => number) {
    this.#budgets = budgets;
    this.#now = now;
  }

  /** Replaces the budgets. Calls that were counted already count against the new budgets too. */
  setBudgets(budgets: CallBudgets): void {
    this.#budgets = budgets;
  }

  /** The number of workers and roles whose calls it remembers. */
  get size(): number {
    return this.#workers.size + this.#roles.size;
  }

  /** Counts a call once, however often its request is delivered. A refused call is not counted. */
  take(call: BudgetedCall): BudgetDecision {
    const { request } = call;
    const applied = this.#appliedTo(call);
    // Without limits there is nothing to count.
    if (applied.length === 0 && this.#workers.size + this.#roles.size === 0) return uncounted;
    if (request !== undefined && this.#counted.has(request)) return uncounted;
    const now = this.#now();
    for (const windows of [this.#workers, this.#roles]) forgetIdle(windows, now);
    const waits = applied.map(({ window, budget }) => window.waitMs(budget, now));
    const longest = Math.max(0, ...waits);
    if (longest > 0) return { refusal: overBudget(applied[waits.indexOf(longest)]!, longest) };
    const takeBacks = applied.map((one) => count(one, call.role, now));
    if (request !== undefined && applied.length > 0) this.#remember(request);
    return {
      takeBack: () => {
        if (request !== undefined) this.#counted.delete(request);
        for (const takeBack of takeBacks) takeBack();
      },
    };
  }

  /** The length of the longest window, in milliseconds; 0 without budgets. */
  get longestMs(): number {
    const { perWorker, roles = {}, perRole = {} } = this.#budgets;
    const budgets = [...(perWorker ? [perWorker] : []), ...Object.values(roles), ...Object.values(perRole)];
    return Math.max(0, ...budgets.map(({ windowMs }) => windowMs));
  }

  /** Counts the calls of an earlier process, before any other call. */
  countEarlier(earlier: readonly EarlierCalls[]): void {
    const now = this.#now();
    for (const { agent, role, agoMs, calls } of earlier.toSorted((a, b) => b.agoMs - a.agoMs)) {
      for (const one of this.#appliedTo({ agent, role }))
        if (agoMs < one.budget.windowMs) count(one, role, now - Math.max(0, agoMs), calls);
    }
  }

  /** Lists the budgets of which something is used, those with the least left first. */
  uses(): BudgetUse[] {
    const now = this.#now();
    const uses: BudgetUse[] = [];
    const add = (budget: Budget | undefined, window: CallWindow, agent?: string): void => {
      const used = budget && window.used(budget, now);
      if (!used) return;
      const { calls, windowMs } = budget;
      const wait = Math.ceil(window.waitMs(budget, now));
      uses.push({
        ...(agent !== undefined && { agent }),
        ...{ role: window.role, used, calls, window_ms: windowMs, wait_ms: wait },
      });
    };
    for (const [agent, window] of this.#workers) add(this.budgetsOf(window.role).own, window, agent);
    for (const window of this.#roles.values()) add(this.budgetsOf(window.role).shared, window);
    const part = ({ used, calls }: BudgetUse): number => used / calls;
    return uses.sort((a, b) => part(b) - part(a));
  }

  /** Returns the budget of each worker of a role, and the one that they share. */
  budgetsOf(role: string): { own: Budget | undefined; shared: Budget | undefined } {
    const { perWorker, roles = {}, perRole = {} } = this.#budgets;
    return {
      own: Object.hasOwn(roles, role) ? roles[role] : perWorker,
      shared: Object.hasOwn(perRole, role) ? perRole[role] : undefined,
    };
  }

  #appliedTo({ agent, role }: BudgetedCall): AppliedBudget[] {
    const { own, shared } = this.budgetsOf(role);
    const applied: AppliedBudget[] = [];
    if (own) applied.push(applyBudget(own, this.#workers, agent, `'${agent}' has`));
    if (shared) {
      applied.push(applyBudget(shared, this.#roles, role, `the workers of role '${role}' have together`));
    }
    return applied;
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

function applyBudget(
  budget: Budget,
  windows: Map<string, CallWindow>,
  key: string,
  subject: string,
): AppliedBudget {
  return { budget, windows, key, window: windows.get(key) ?? new CallWindow(), subject };
}

/** Counts a call and moves its window to the end, where the most recently used are. */
function count(
  { windows, key, window, budget }: AppliedBudget,
  role: string,
  now: number,
  calls = 1,
): () => void {
  windows.delete(key);
  windows.set(key, window);
  window.role = role;
  return window.count(budget, now, calls);
}

function forgetIdle(windows: Map<string, CallWindow>, now: number): void {
  for (const [key, window] of windows) {
    if (!window.isIdle(now)) return;
    windows.delete(key);
  }
}

/** Describes a budget: `30 calls in 60 s`. */
export function budgetText({ calls, windowMs }: Budget): string {
  return `${calls === 1 ? '1 call' : `${calls} calls`} in ${windowMs / 1000} s`;
}

function overBudget({ budget, subject }: AppliedBudget, waitMs: number): ToolCallError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return toolCallError('quota_exceeded', `${subject} used up the budget of ${budgetText(budget)}`, {
    mayHaveRun: false,
    retryAfterSeconds: seconds,
    hint: 'This call did not run. Make fewer calls.',
  });
}
