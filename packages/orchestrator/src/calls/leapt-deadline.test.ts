import { expect, it } from 'vitest';
import { endedInLeap } from './leapt-deadline.ts';

const minute = 60_000;
const hour = 60 * minute;

it.each([
  ['no time passed', 0, 0, false],
  ['a minute passed on both clocks', minute, minute, false],
  ['the wall clock leapt by less than a minute beyond the deadline', hour + minute, hour, false],
  ['the wall clock leapt, but not to the deadline', hour - 1, 0, false],
  ['the wall clock leapt to the deadline', hour, 0, true],
  ['the machine slept for a night after five minutes', 8 * hour, 5 * minute, true],
  ['the wall clock went back', -hour, 5 * minute, false],
])('%s', (_, wallPassed, passed, expected) => {
  const before = { wall: 1_800_000_000_000, monotonic: 5 };
  const after = { wall: before.wall + wallPassed, monotonic: before.monotonic + passed };
  expect(endedInLeap(before, after, () => hour - passed)).toBe(expected);
});

it('never ends a request without a lifetime', () => {
  const [before, after] = [0, hour].map((wall) => ({ wall, monotonic: 0 }));
  expect(endedInLeap(before!, after!, () => undefined)).toBe(false);
});
