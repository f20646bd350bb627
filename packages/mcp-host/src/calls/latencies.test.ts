import { expect, it } from 'vitest';
import { Latencies } from './latencies.ts';

it('has no quantiles before the first call', () => {
  expect(new Latencies().quantiles(0.5, 0.95)).toEqual([undefined, undefined]);
});

it('gives the smallest duration that covers the share', () => {
  const latencies = new Latencies();
  for (let ms = 100; ms >= 1; ms--) latencies.add(ms);
  expect(latencies.quantiles(0, 0.5, 0.95, 1)).toEqual([1, 50, 95, 100]);
});

it('keeps the last ones only, and counts all', () => {
  const latencies = new Latencies(3);
  for (const ms of [1_000, 9, 30, 200]) latencies.add(ms);
  expect(latencies.quantiles(0, 0.5, 1)).toEqual([9, 30, 200]);
  expect(latencies.count).toBe(4);
});
