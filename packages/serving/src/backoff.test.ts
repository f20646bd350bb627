import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

const policy = { firstMs: 100, longestMs: 60_000, jitter: 1 };

it('doubles from the first wait to the longest, and stays there', () => {
  const longest = [0, 1, 2, 3, 8, 9, 10, 1000].map((attempt) => backoffMs(policy, attempt, 1));
  expect(longest).toEqual([100, 200, 400, 800, 25_600, 51_200, 60_000, 60_000]);
});

it('spreads the tries over the random share of the wait', () => {
  const waits = (jitter: number) => [0, 0.5, 1].map((random) => backoffMs({ ...policy, jitter }, 3, random));
  expect(waits(1)).toEqual([0, 400, 800]);
  expect(waits(0.5)).toEqual([400, 600, 800]);
  expect(waits(0)).toEqual([800, 800, 800]);
});
