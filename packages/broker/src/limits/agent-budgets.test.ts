import { expect, it } from 'vitest';
import { AgentBudgets } from './agent-budgets.ts';
import { RoleLimits } from './role-limits.ts';

const rosa = { agent: 'rosa', role: 'worker' };

it('gives all connections of an agent one budget, which a new connection does not refill', () => {
  let now = 0;
  const rates = { frames: 100, framesBurst: 50, bytes: 1000, bytesBurst: 1000 };
  const budgets = new AgentBudgets(new RoleLimits({ rates }), () => now);
  const first = budgets.of(rosa);
  expect(budgets.of(rosa)).toBe(first);
  expect(budgets.of({ ...rosa, agent: 'kim' })).not.toBe(first);
  expect(budgets.of({ ...rosa, role: 'operator' })).not.toBe(first);
  first.take();
  first.spendFrames(60);
  expect(first.waitMs(now)).toBe(100);

  first.giveBack();
  budgets.prune();
  expect(budgets.of(rosa)).toBe(first);
  now += 600;
  budgets.prune();
  expect(budgets.size).toBe(0);
  const later = budgets.of(rosa);
  expect(later).not.toBe(first);
  expect(later.isOverdrawn).toBe(false);
});

it('tells an agent that it is over its budget at most every ten seconds', () => {
  const budget = new AgentBudgets(new RoleLimits(), () => 0).of(rosa);
  expect([0, 1, 9_999, 10_000, 10_001].map((now) => budget.isNoticeDue(now))).toEqual([
    true,
    false,
    false,
    true,
    false,
  ]);
});

it('counts what the agents of one minting token use together, beside what each of them may use', () => {
  let now = 0;
  const rates = { messages: 10, messagesBurst: 1, frames: 100, framesBurst: 100, perMinter: 2 };
  const limits = new RoleLimits({ rates });
  const budgets = new AgentBudgets(limits, () => now);
  const [a, b, c] = ['a', 'b', 'c'].map((agent) => budgets.of({ agent, role: 'worker', parentId: 'minter' }));
  const other = budgets.of({ agent: 'd', role: 'worker', parentId: 'other' });
  a!.spendFrames(100);
  b!.spendFrames(100);
  expect(c!.waitMs(now)).toBe(0);
  c!.spendFrames(40);
  expect([a, b, c].map((budget) => budget!.waitMs(now))).toEqual([200, 200, 200]);
  expect(other.waitMs(now)).toBe(0);
  expect(c!.overdraft(limits)).toEqual({
    what: "more than 200 units of frames a second for all agents of one minting token with role 'worker'",
    setting: 'broker.limits.rates.perMinter',
  });
  expect([a, b, c, other].map((budget) => budget!.takeMessage(now, limits)?.excess.setting)).toEqual([
    undefined,
    undefined,
    'broker.limits.rates.perMinter',
    undefined,
  ]);
  expect(a!.takeMessage(now, limits)?.excess.setting).toBe('broker.limits.rates.messages');

  now += 10_000;
  budgets.prune();
  expect(budgets.size).toBe(0);
});
