import { expect, test } from 'vitest';
import { formatDuration, formatElapsed } from './duration.ts';

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
