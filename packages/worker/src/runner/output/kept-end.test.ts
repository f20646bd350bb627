import { expect, test } from 'vitest';
import { KeptEnd } from './kept-end.ts';

test('The end is kept, no matter in which pieces the bytes come.', () => {
  const all = Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 251));
  for (const size of [1, 3, 9, 10, 11, 100, 1000]) {
    const kept = new KeptEnd(10);
    for (let at = 0; at < all.length; at += size) {
      kept.add(all.subarray(at, at + size));
      const end = Math.min(at + size, all.length);
      expect(kept.bytes()).toEqual(all.subarray(Math.max(0, end - 10), end));
    }
    expect(kept.total).toBe(1000);
  }
});

test('A million single bytes cost little time.', () => {
  const kept = new KeptEnd(65_536);
  const byte = Buffer.from('x');
  const startedAt = process.cpuUsage();
  for (let at = 0; at < 1_000_000; at++) kept.add(byte);
  const { user, system } = process.cpuUsage(startedAt);
  expect(kept.bytes()).toHaveLength(65_536);
  // Moving what is kept for each byte takes minutes.
  expect((user + system) / 1000).toBeLessThan(5000);
});
