import { expect, test } from 'vitest';
import { windowOf } from './window-of.ts';

test('Of ten thousand rows only those in sight and a few beyond are shown.', () => {
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 0, height: 400 })).toEqual({ first: 0, end: 18 });
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 200_000, height: 400 })).toEqual({
    first: 4992,
    end: 5016,
  });
  expect(windowOf(10_000, { rowHeight: 40, scrollTop: 399_600, height: 400 })).toEqual({
    first: 9984,
    end: 10_000,
  });
});

test('Scrolling by a row or two shows the same rows.', () => {
  const at = (scrollTop: number) => windowOf(10_000, { rowHeight: 40, scrollTop, height: 400 });
  expect(at(200_040)).toEqual(at(200_120));
  expect(at(200_040)).not.toEqual(at(200_280));
});

test('A list that became shorter than it was scrolled shows its end, and an empty one nothing.', () => {
  expect(windowOf(5, { rowHeight: 40, scrollTop: 9000, height: 400 }).end).toBe(5);
  expect(windowOf(0, { rowHeight: 40, scrollTop: 0, height: 400 })).toEqual({ first: 0, end: 0 });
});
