import { expect, test } from 'vitest';
import { WaitingPace } from './retry-estimate.ts';

test('who is turned away is told when a place will be free, at the pace of the last starts', () => {
  const pace = new WaitingPace(0);
  for (let start = 1; start <= 40; start++) pace.started(start * 2_000);
  expect(pace.turnAway(80_000, 0)).toBe(2);
});

test('each one more who is turned away is told to come a start later, until starts make up for them', () => {
  const pace = new WaitingPace(0);
  pace.started(3_000);
  expect([1, 2, 3].map(() => pace.turnAway(3_000, 0))).toEqual([3, 6, 9]);
  pace.started(6_000);
  pace.started(9_000);
  expect(pace.turnAway(9_000, 0)).toBe(6);
});

test('before the first start, the pace is what calls used to take, or the time that has passed already', () => {
  expect(new WaitingPace(0).turnAway(100, 4_000)).toBe(4);
  expect(new WaitingPace(0).turnAway(7_000, 4_000)).toBe(7);
});

test('a queue that stands still is told of as slower and slower', () => {
  const pace = new WaitingPace(0);
  pace.started(1_000);
  expect(pace.turnAway(1_000, 0)).toBe(1);
  expect(pace.turnAway(60_000, 0)).toBe(120);
});

test('it is at least a second and at most ten minutes', () => {
  expect(new WaitingPace(0).turnAway(0, 0)).toBe(1);
  expect(new WaitingPace(0).turnAway(0, 3_600_000)).toBe(600);
});
