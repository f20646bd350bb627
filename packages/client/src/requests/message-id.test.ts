import { expect, it } from 'vitest';
import { newMessageId } from './message-id.ts';

it('makes ids of one width that never repeat and sort by the time they were made at', () => {
  const ids = Array.from({ length: 500 }, (_, n) => newMessageId(1_700_000_000_000 + Math.floor(n / 100)));
  expect(new Set(ids.map((id) => id.slice(8))).size).toBe(500);
  for (const id of ids) expect(id).toMatch(/^[\w-]{21}$/);
  const times = ids.map((id) => id.slice(0, 8));
  expect(times).toEqual([...times].sort());
  expect(new Set(times).size).toBe(5);
});
