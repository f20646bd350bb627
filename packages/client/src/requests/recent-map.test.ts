import { expect, it } from 'vitest';
import { RecentMap } from './recent-map.ts';

it('remembers the last keys and forgets old ones, so that it never grows past twice its size', () => {
  const recent = new RecentMap<string, number>(100);
  for (let i = 0; i < 1_000; i++) recent.set(`k${i}`, i);
  for (let i = 900; i < 1_000; i++) expect(recent.get(`k${i}`)).toBe(i);
  const known = Array.from({ length: 1_000 }, (_, i) => recent.get(`k${i}`)).filter((v) => v !== undefined);
  expect(known.length).toBeLessThanOrEqual(200);
  recent.delete('k999');
  expect(recent.get('k999')).toBeUndefined();
});

it('finds what was added since it was last asked, the newest of a key', () => {
  const recent = new RecentMap<number, string>(4);
  recent.set(1, 'a');
  expect(recent.get(1)).toBe('a');
  recent.set(2, 'b');
  recent.set(1, 'c');
  expect([recent.get(1), recent.get(2), recent.get(3)]).toEqual(['c', 'b', undefined]);
  recent.delete(1);
  expect(recent.get(1)).toBeUndefined();
  recent.set(1, 'd');
  recent.set(5, 'e');
  expect([recent.get(1), recent.get(2), recent.get(5)]).toEqual(['d', 'b', 'e']);
});
