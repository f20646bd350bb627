import { type BudgetDecision, budgetText } from '../../budgets/budget-ledger.ts';
import type { Call } from '../call.ts';
import type { Attempt, CallDeps, Pass, Step } from '../step.ts';

/** Counts a call against the budgets of its agent and role, once. The queue takes it back if the call does not get its turn. */
export const budget = {
  name: 'budget',
  explain({ role }, { budgets }) {
    const { own, shared } = budgets.budgetsOf(role);
    const limits = [
      own && `${budgetText(own)} for each agent of the role`,
      shared && `${budgetText(shared)} for all of them together`,
    ].filter((one) => one !== undefined);
    return limits.length === 0
      ? { verdict: 'passes', says: 'no budget limits the calls of this role' }
      : { verdict: 'depends', says: `at most ${limits.join(', and ')}` };
  },
  before(next: Pass<Attempt>, deps: Pick<CallDeps, 'budgets'>): Pass<Attempt> {
    return (call) => {
      const { takeBack, refusal } = chargeOf(deps, call);
      if (refusal) return { error: refusal };
      call.takeBack = takeBack;
      return next(call);
    };
  },
} satisfies Step<Attempt>;

/** Counts a call, however often its request is delivered, once. */
export function chargeOf({ budgets }: Pick<CallDeps, 'budgets'>, { name, request }: Call): BudgetDecision {
  const { agent, role, requestId } = name;
  const { seq } = request.message;
  return budgets.take({
    agent,
    role,
    request: seq === undefined ? undefined : `${agent} ${requestId} ${seq}`,
  });
}
