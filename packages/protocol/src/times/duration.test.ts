import { expect, test } from 'vitest';
import { formatDuration, formatElapsed, parseDuration } from './duration.ts';

test('A time is a number and a unit.', () => {
  expect(['500ms', '30s', '15m', '8h', '7d', '1.5h'].map(parseDuration)).toEqual([
    500, 30_000, 900_000, 28_800_000, 604_800_000, 5_400_000,
  ]);
});

test('Anything else is not a time.', () => {
  expect(['', '30', 's', '0s', '-1s', '1 h', '1w', '1e3s'].map(parseDuration)).toEqual(
    Array(8).fill(undefined),
  );
});

test('A length of time reads in the unit that suits it.', () => {
  expect([400, 89_000, 3_600_000, 8 * 3_600_000, 7 * 86_400_000].map(formatDuration)).toEqual([
    '0 s',
    '89 s',
    '60 min',
    '8 h',
    '7 d',
  ]);
});

test('Times below ten seconds are written in tenths, times below one second in milliseconds.', () => {
  expect([-5, 0, 999, 1000, 1549, 9999, 10_000, 65_000].map(formatElapsed)).toEqual([
    '0 ms',
    '0 ms',
    '999 ms',
    '1.0 s',
    '1.5 s',
    '9.9 s',
    '10 s',
    '65 s',
  ]);
});
