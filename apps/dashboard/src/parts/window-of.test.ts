import { expect, test } from 'vitest';
import { windowOf } from './window-of.ts';

test('Of ten thousand rows only those in sight and a few beyond are shown.', () => {
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 0, height: 400 })).toEqual({ first: 0, end: 22 });
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 200_000, height: 400 })).toEqual({
    first: 4988,
    end: 5022,
  });
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 399_600, height: 400 })).toEqual({
    first: 9978,
    end: 10_000,
  });
});

test('A list that became shorter than it was scrolled shows its end, and an empty one nothing.', () => {
  expect(windowOf(5, { rowHeight: 40, scrollTop: 9000, height: 400 }).end).toBe(5);
  expect(windowOf(0, { rowHeight: 40, scrollTop: 0, height: 400 })).toEqual({ first: 0, end: 0 });
});
