import { expect, it } from 'vitest';
import { RateLimit } from './rate-limit.ts';

/** Takes until no more is allowed, and returns the number of takes. */
function taken(limit: RateLimit, now: number): number {
  let count = 0;
  while (limit.take(now) === 0) count++;
  return count;
}

it('allows the burst, then tells a wait after which some are allowed together', () => {
  const limit = new RateLimit(1000, 50, 0);
  expect(taken(limit, 0)).toBe(50);
  expect(limit.take(0)).toBe(20);
  expect(limit.take(19)).toBe(1);
  expect(taken(limit, 20)).toBe(20);
});

it('lets somebody who insists have the rate, no more and no less', () => {
  const limit = new RateLimit(1000, 50, 0);
  let count = 0;
  for (let now = 0; now <= 10_000; now++) count += taken(limit, now);
  expect(count).toBe(50 + 10_000);
});

it('asks for one where the rate is low, and for no more than the burst', () => {
  const slow = new RateLimit(10, 1, 0);
  expect(taken(slow, 0)).toBe(1);
  expect(slow.take(0)).toBe(100);
  expect(taken(slow, 100)).toBe(1);
  const narrow = new RateLimit(1000, 2, 0);
  expect(taken(narrow, 0)).toBe(2);
  expect(narrow.take(0)).toBe(2);
});

it('counts uses that have been made already, and never makes a debt of them', () => {
  const limit = new RateLimit(1000, 50, 0);
  limit.count(30, 0);
  expect(taken(limit, 0)).toBe(20);
  limit.count(1_000_000, 100);
  expect(taken(limit, 120)).toBe(20);
});
