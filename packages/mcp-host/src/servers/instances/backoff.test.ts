import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

it('doubles from 100 ms to 5 s and stays there', () => {
  const longest = [0, 1, 2, 3, 4, 5, 6, 7, 1000].map((attempt) => backoffMs(attempt, 1));
  expect(longest).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});

it('spreads restarts over the whole delay', () => {
  expect([0, 0.5, 1].map((random) => backoffMs(3, random))).toEqual([0, 400, 800]);
});
