import { expect, it } from 'vitest';
import { Histogram } from './histogram.ts';

it('estimates a percentile within the bucket that holds it, and none without values', () => {
  const histogram = new Histogram({ name: 'x', help: 'x' }, [1, 2, 4]);
  expect([histogram.quantile(0.5), histogram.total()]).toEqual([undefined, { count: 0, sum: 0 }]);
  for (const value of [0.5, 1.5, 1.5, 3]) histogram.observe(value);
  expect(histogram.quantile(0.25)).toBe(1);
  expect(histogram.quantile(0.5)).toBe(1.5);
  expect(histogram.quantile(1)).toBe(4);
  expect(histogram.total()).toEqual({ count: 4, sum: 6.5 });
  for (let more = 0; more < 100; more++) histogram.observe(1000);
  expect(histogram.quantile(0.95)).toBe(4);
});
