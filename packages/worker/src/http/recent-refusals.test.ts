import { expect, test } from 'vitest';
import { RecentRefusals } from './recent-refusals.ts';

test('a refusal is remembered for its time, and no longer', () => {
  let now = 0;
  const refusals = new RecentRefusals<string>({ forMs: 100, maxEntries: 10, now: () => now });
  refusals.add('a', 'no');
  now = 99;
  expect(refusals.get('a')).toBe('no');
  expect(refusals.get('b')).toBeUndefined();
  now = 100;
  expect(refusals.get('a')).toBeUndefined();
});

test('of more than fit, the oldest is forgotten', () => {
  const refusals = new RecentRefusals<number>({ forMs: 100, maxEntries: 2, now: () => 0 });
  refusals.add('a', 1);
  refusals.add('b', 2);
  refusals.add('a', 3);
  refusals.add('c', 4);
  expect([refusals.get('a'), refusals.get('b'), refusals.get('c')]).toEqual([3, undefined, 4]);
});
