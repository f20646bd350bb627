import { expect, it } from 'vitest';
import { PassingMap } from './passing-map.ts';

it('holds values by key, in the order in which the keys came', () => {
  const map = new PassingMap<number>();
  map.set('a', 1);
  map.set('b', 2);
  map.set('c', 3);
  map.set('a', 4);
  expect(map.delete('b')).toBe(true);
  expect(map.delete('b')).toBe(false);
  map.set('b', 5);
  expect(map.values()).toEqual([4, 3, 5]);
  expect([map.size, map.get('a'), map.has('b'), map.get('d')]).toEqual([3, 4, true, undefined]);
});

it('can be emptied while its values are gone through', () => {
  const map = new PassingMap<string>();
  for (let i = 0; i < 1_000; i++) map.set(`k${i}`, `v${i}`);
  const seen: string[] = [];
  for (const value of map.values()) {
    seen.push(value);
    map.clear();
  }
  expect(seen.length).toBe(1_000);
  expect([map.size, map.get('k1')]).toEqual([0, undefined]);
});
