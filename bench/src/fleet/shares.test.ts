import { expect, test } from 'vitest';
import type { FairnessRound, LoadFigures } from './fleet-report.ts';
import { doneAlone, fairnessRows, mostDone, sharesOf } from './shares.ts';

const load = (done: number[], seconds = 1): LoadFigures => ({
  seconds,
  done,
  refused: 0,
  p50Ms: 1,
  p99Ms: 2,
});
const alone = (...done: number[]): FairnessRound => ({ modest: load(done) });
const beside = (greedy: number, ...done: number[]): FairnessRound => ({
  modest: load(done),
  greedy: load([greedy]),
});

test('a fair share is an equal part of the capacity, the greedy one counted', () => {
  expect(sharesOf([alone(60, 60)], [beside(40, 40, 20)], mostDone)).toEqual([1, 0.5]);
});

test('nobody is owed more than it gets alone', () => {
  expect(sharesOf([alone(10, 110)], [beside(60, 10, 50)], mostDone)).toEqual([1, 1.25]);
});

test('a greedy one that makes everything slower does not make the shares smaller', () => {
  expect(sharesOf([alone(60, 60)], [beside(20, 20, 20)], mostDone)).toEqual([0.5, 0.5]);
});

test('where the greedy one does more in all, the share of the others is of that, unless it counts in another unit', () => {
  const [before, after] = [[alone(100, 100)], [beside(270, 45, 45)]];
  expect(sharesOf(before, after, mostDone)[0]).toBe(0.45);
  expect(sharesOf(before, after, doneAlone)[0]).toBeCloseTo(45 / (200 / 3));
});

test('shares are of all rounds together, the worst is of any', () => {
  const [first, second] = fairnessRows(
    [
      { condition: 'alone', rounds: [alone(30, 30), alone(30, 30)] },
      { condition: 'crowded', rounds: [beside(20, 10, 20), beside(20, 30, 20)] },
    ],
    mostDone,
  );
  expect(first).not.toHaveProperty('shares');
  expect(second).toMatchObject({ perSecond: 40, shares: { min: 1, median: 1 } });
  expect(second!.worstRound).toBe(0.5);
});
