import { expect, it } from 'vitest';
import { PassingMap } from './passing-map.ts';

it('holds values by key, in the order in which the keys came', () => {
  const map = new PassingMap<number>();
  map.add('a', 1);
  map.add('b', 2);
  map.add('c', 3);
  expect(map.take('b')).toBe(2);
  expect(map.take('b')).toBe(undefined);
  map.add('b', 5);
  expect(map.values()).toEqual([1, 3, 5]);
  expect([map.size, map.get('a'), map.has('b'), map.get('d')]).toEqual([3, 1, true, undefined]);
});

it('can be emptied while its values are gone through', () => {
  const map = new PassingMap<string>();
  for (let i = 0; i < 1_000; i++) map.add(`k${i}`, `v${i}`);
  const seen: string[] = [];
  for (const value of map.values()) {
    seen.push(value);
    map.clear();
  }
  expect(seen.length).toBe(1_000);
  expect([map.size, map.get('k1')]).toEqual([0, undefined]);
});

it('holds what stays in its order while thousands pass by', () => {
  const map = new PassingMap<number>();
  const stays = (n: number) => n % 700 === 0;
  for (let i = 0; i < 5_000; i++) {
    map.add(`k${i}`, i);
    if (!stays(i)) expect(map.take(`k${i}`)).toBe(i);
  }
  const staying = Array.from({ length: 5_000 }, (_, n) => n).filter(stays);
  expect(map.values()).toEqual(staying);
  expect(map.size).toBe(staying.length);
  for (const n of staying) expect(map.take(`k${n}`)).toBe(n);
  expect([map.size, map.has('k700'), map.get('k1400')]).toEqual([0, false, undefined]);
});

it('renews itself also when it holds more than pass by', () => {
  const map = new PassingMap<number>();
  for (let i = 0; i < 10_000; i++) map.add(`k${i}`, i);
  expect(map.values()).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
});
