import { expect, it } from 'vitest';
import { timeSortedId } from './message-id.ts';

it('makes ids of one width whose text order is their time order', () => {
  const times = [0, 1, 62, 63, 3968, 3969, 1_700_000_000_000, 1_700_000_000_001, 63 ** 8 - 1];
  const ids = times.map((time) => timeSortedId(time, 'zz'));
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids.map((id) => id.length))).toEqual(new Set([10]));
  expect(new Set(ids).size).toBe(times.length);
});
