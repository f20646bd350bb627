import { expect, test } from 'vitest';
import { RetryEstimate } from './retry-estimate.ts';

test('a refused caller is told when a slot will be free, at the pace of the last starts', () => {
  const estimate = new RetryEstimate(0);
  for (let start = 1; start <= 40; start++) estimate.started(start * 2_000);
  expect(estimate.refuse(80_000, 0)).toBe(2);
});

test('each further refused caller is told to come one start later, until starts make up for them', () => {
  const estimate = new RetryEstimate(0);
  estimate.started(3_000);
  expect([1, 2, 3].map(() => estimate.refuse(3_000, 0))).toEqual([3, 6, 9]);
  estimate.started(6_000);
  estimate.started(9_000);
  expect(estimate.refuse(9_000, 0)).toBe(6);
});

test('before the first start, the pace is what calls used to take, or the time that has passed already', () => {
  expect(new RetryEstimate(0).refuse(100, 4_000)).toBe(4);
  expect(new RetryEstimate(0).refuse(7_000, 4_000)).toBe(7);
});

test('a queue that stands still is told of as slower and slower', () => {
  const estimate = new RetryEstimate(0);
  estimate.started(1_000);
  expect(estimate.refuse(1_000, 0)).toBe(1);
  expect(estimate.refuse(60_000, 0)).toBe(120);
});

test('it is at least a second and at most ten minutes', () => {
  expect(new RetryEstimate(0).refuse(0, 0)).toBe(1);
  expect(new RetryEstimate(0).refuse(0, 3_600_000)).toBe(600);
});
