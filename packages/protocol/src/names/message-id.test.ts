import { expect, it } from 'vitest';
import { timeSortedId } from './message-id.ts';

it('makes ids of one width whose text order is their time order', () => {
  const times = [0, 1, 62, 63, 3968, 3969, 1_700_000_000_000, 1_700_000_000_001, 63 ** 8 - 1];
  const ids = times.map((time) => timeSortedId(time, 'zz'));
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids.map((id) => id.length))).toEqual(new Set([10]));
  expect(new Set(ids).size).toBe(times.length);
});

it('writes the milliseconds in base 63', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
  for (let time = 1; time < 63 ** 8; time = time * 3 + 7) {
    let rest = time;
    let text = '';
    for (let i = 0; i < 8; i++) {
      text = alphabet[rest % 63] + text;
      rest = Math.floor(rest / 63);
    }
    expect(timeSortedId(time, '')).toBe(text);
  }
});
