import { expect, it } from 'vitest';
import { AgentBudgets } from './agent-budgets.ts';
import { RoleLimits } from './role-limits.ts';

it('gives all connections of an agent one budget, which a new connection does not refill', () => {
  let now = 0;
  const rates = { frames: 100, framesBurst: 50, bytes: 1000, bytesBurst: 1000 };
  const budgets = new AgentBudgets(new RoleLimits({ rates }), () => now);
  const first = budgets.take('rosa', 'worker');
  expect(budgets.take('rosa', 'worker')).toBe(first);
  expect(budgets.take('kim', 'worker')).not.toBe(first);
  first.frames.spend(60);
  expect(first.waitMs(now)).toBe(100);

  first.connections -= 2;
  budgets.prune();
  expect(budgets.take('rosa', 'worker')).toBe(first);
  first.connections--;
  now += 600;
  budgets.prune();
  expect(budgets.size).toBe(1);
  const later = budgets.take('rosa', 'worker');
  expect(later).not.toBe(first);
  expect(later.isOverdrawn).toBe(false);
});

it('tells an agent that it is over its budget at most every ten seconds', () => {
  const budget = new AgentBudgets(new RoleLimits(), () => 0).take('rosa', 'worker');
  expect([0, 1, 9_999, 10_000, 10_001].map((now) => budget.isNoticeDue(now))).toEqual([
    true,
    false,
    false,
    true,
    false,
  ]);
});
