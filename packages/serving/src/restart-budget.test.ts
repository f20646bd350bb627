import { expect, it } from 'vitest';
import { RestartBudget } from './restart-budget.ts';

it('allows so many restarts in any window, and more as the window moves on', () => {
  const budget = new RestartBudget(2, 100);
  expect([0, 50, 99].map((now) => budget.spend(now))).toEqual([0, 1, undefined]);
  expect([100, 101, 149, 150].map((now) => budget.spend(now))).toEqual([1, undefined, undefined, 1]);
});

it('forgets the restarts when it is cleared, and may allow none at all', () => {
  const budget = new RestartBudget(1, 100);
  expect(budget.spend(0)).toBe(0);
  budget.clear();
  expect([budget.spend(1), budget.spend(2)]).toEqual([0, undefined]);
  expect(new RestartBudget(0, 100).spend(0)).toBeUndefined();
});
