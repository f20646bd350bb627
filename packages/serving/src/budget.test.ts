import { expect, it } from 'vitest';
import { Budget } from './budget.ts';

it('allows the burst and then the rate, and tells when a debt is paid', () => {
  const budget = new Budget(1000, 500, 0);
  budget.spend(500);
  expect(budget.isOverdrawn).toBe(false);
  expect(budget.waitMs(0)).toBe(0);
  budget.spend(300);
  expect(budget.isOverdrawn).toBe(true);
  expect(budget.waitMs(0)).toBe(300);
  expect(budget.waitMs(299)).toBe(20);
  expect(budget.waitMs(300)).toBe(0);
  expect(budget.isOverdrawn).toBe(false);
});

it('lets somebody who never stops have the rate', () => {
  const budget = new Budget(1000, 500, 0);
  let spent = 0;
  for (let now = 0; now <= 10_000; now += budget.waitMs(now) || 1) {
    while (budget.waitMs(now) === 0) {
      budget.spend(7);
      spent += 7;
    }
  }
  expect(spent).toBeGreaterThan(10_400);
  expect(spent).toBeLessThan(10_600);
});

it('is full again when all was paid back, and never fuller', () => {
  const budget = new Budget(1000, 500, 0);
  budget.spend(100);
  expect(budget.isFull(99)).toBe(false);
  expect(budget.isFull(100)).toBe(true);
  budget.spend(500);
  expect(budget.waitMs(100)).toBe(0);
  budget.spend(1);
  expect(budget.waitMs(100)).toBe(20);
});
