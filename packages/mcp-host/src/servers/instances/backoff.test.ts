import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

it('doubles from 100 ms to a minute and stays there', () => {
  const longest = [0, 1, 2, 3, 8, 9, 10, 1000].map((attempt) => backoffMs(attempt, 1));
  expect(longest).toEqual([100, 200, 400, 800, 25_600, 51_200, 60_000, 60_000]);
});

it('spreads restarts over the whole delay', () => {
  expect([0, 0.5, 1].map((random) => backoffMs(3, random))).toEqual([0, 400, 800]);
});
