import { expect, it } from 'vitest';
import { RecentMap } from './recent-map.ts';

it('remembers the last keys and forgets old ones, so that it never grows past twice its size', () => {
  const recent = new RecentMap<number>(100);
  for (let i = 0; i < 1_000; i++) recent.set(`k${i}`, i);
  for (let i = 900; i < 1_000; i++) expect(recent.get(`k${i}`)).toBe(i);
  const known = Array.from({ length: 1_000 }, (_, i) => recent.get(`k${i}`)).filter((v) => v !== undefined);
  expect(known.length).toBeLessThanOrEqual(200);
  recent.delete('k999');
  expect(recent.get('k999')).toBeUndefined();
});
