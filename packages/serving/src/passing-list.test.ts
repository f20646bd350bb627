import { expect, test } from 'vitest';
import { PassingList } from './passing-list.ts';

test('a list has its values in the order of their coming, with values removed in any order', () => {
  const list = new PassingList<number>();
  const places = [1, 2, 3, 4, 5].map((value) => list.add(value));
  for (const [at, left] of [
    [2, [1, 2, 4, 5]],
    [0, [2, 4, 5]],
    [4, [2, 4]],
    [2, [2, 4]],
  ] as const) {
    list.remove(places[at]!);
    expect([...list]).toEqual(left);
  }
  list.add(6);
  for (const value of list) if (value === 2) list.remove(places[1]!);
  expect([...list]).toEqual([4, 6]);
  list.remove(places[3]!);
  expect([...list]).toEqual([6]);
});
