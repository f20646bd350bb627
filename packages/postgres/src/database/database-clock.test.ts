import { expect, test } from 'vitest';
import { DatabaseClock } from './database-clock.ts';

test('The clock goes on by monotonic time, and follows the database no further than what it said can mean.', () => {
  let monotonic = 1000;
  const clock = new DatabaseClock(() => monotonic, 5_000_000, 1000);
  expect(clock.now()).toBe(5_000_000);
  monotonic = 3000;
  expect(clock.now()).toBe(5_002_000);
  // It was asked 500 ms ago, so that what is known may be right.
  clock.heard(5_001_700, 2500);
  expect(clock.now()).toBe(5_002_000);
  // Here the database can only be ahead, and here only behind.
  clock.heard(5_002_100, 2900);
  expect(clock.now()).toBe(5_002_100);
  clock.heard(4_000_000, 2900);
  expect(clock.now()).toBe(4_000_100);
});
