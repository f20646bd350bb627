import { expect, test } from 'vitest';
import { parseDuration } from './duration.ts';

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
