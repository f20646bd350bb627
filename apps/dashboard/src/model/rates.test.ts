import { expect, test } from 'vitest';
import { ratesOf } from './rates.ts';

const reading = (at: number, stored: number) => ({ at, counts: { stored } });

test('A rate is told over the last minute, and is unknown before there are two readings.', () => {
  expect(ratesOf([])).toBeUndefined();
  expect(ratesOf([reading(0, 5)])).toBeUndefined();
  expect(ratesOf([reading(0, 5), reading(10_000, 25)])).toEqual({ stored: 2 });
  expect(ratesOf([reading(0, 0), reading(70_000, 1000), reading(80_000, 1010)])).toEqual({ stored: 1 });
});

test('A rate is unknown when the counter began anew.', () => {
  expect(ratesOf([reading(0, 500), reading(10_000, 3)])).toBeUndefined();
});
