import { runTimes } from '@signalbox/protocol/run-times';
import { expect, test } from 'vitest';
import { dueRun } from './due-run.ts';

const hour = 3_600_000;
const times = runTimes({ everyMs: hour });
if ('problem' in times) throw new Error(times.problem);
const due = (after: number, now: number, catchUpMs?: number, upSince = Infinity) =>
  dueRun(times, { after, now, upSince, catchUpMs });

test('a run is done when its time has come, and not again', () => {
  expect([due(0, hour - 1), due(0, hour), due(hour, hour + 1)]).toEqual([undefined, hour, undefined]);
});

test('of several missed runs the last one is done', () => {
  expect(due(0, 5.5 * hour)).toBe(5 * hour);
});

test('a missed run that is as old as catchUp is left out, and one that is a little late was not missed', () => {
  const half = hour / 2;
  expect([due(0, hour + half - 1, half), due(0, hour + half, half), due(0, hour + 59_000, 0)]).toEqual([
    hour,
    undefined,
    hour,
  ]);
});

test('a run that fell due while the broker ran was not missed, however late it is', () => {
  expect(due(0, 1.5 * hour, 0, hour)).toBe(hour);
  expect(due(0, 1.5 * hour, 0, hour + 1)).toBeUndefined();
});
