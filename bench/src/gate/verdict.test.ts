import { describe, it } from 'vitest';
import { compare, lowerBound, mostPairs, type Pair } from './verdict.ts';

/** Pairs whose new blocks cost that many times what the base's blocks cost, on a machine whose speed changes. */
function pairsOf(...ratios: number[]): Pair[] {
  return ratios.map((ratio, i) => ({ baseUs: 100 + i, newUs: (100 + i) * ratio }));
}

/** The probability that fewer than `k` of `n` values are below the median of what they were drawn from. */
function probabilityBelow(k: number, n: number): number {
  const factorial = (of: number): number => (of < 2 ? 1 : of * factorial(of - 1));
  let ways = 0;
  for (let i = 0; i < k; i++) ways += factorial(n) / factorial(i) / factorial(n - i);
  return ways / 2 ** n;
}

describe('the verdict of the gate', () => {
  it('takes as lower bound the largest of the sorted values that is above the median in at most 5 of 100 runs', ({
    expect,
  }) => {
    for (const n of [5, 6, 10, 11, 12, 20, 40, 99, 100]) {
      const k = lowerBound(Array.from({ length: n }, (_, i) => n - i));
      expect(probabilityBelow(k, n), `${k} of ${n}`).toBeLessThanOrEqual(0.05);
      expect(probabilityBelow(k + 1, n), `${k + 1} of ${n}`).toBeGreaterThan(0.05);
    }
    expect(lowerBound([1, 1, 1, 1])).toBe(Number.NEGATIVE_INFINITY);
    expect(lowerBound(Array.from({ length: mostPairs }, (_, i) => i + 1))).toBe(474);
  });

  it('calls an operation slower when all but two of twelve pairs are beyond 3 %, and not for fewer, however far these are', ({
    expect,
  }) => {
    const slower = pairsOf(0.5, 0.9, ...Array.from({ length: 10 }, () => 1.031));
    expect(compare('request', slower)).toMatchObject({ operation: 'request', isSlower: true });
    const disturbed = pairsOf(0.99, 1.0, 1.03, ...Array.from({ length: 9 }, () => 3));
    expect(compare('request', disturbed)).toMatchObject({ lowerBound: 1.03, isSlower: false });
  });

  it('gives the median of each side and of the ratios of the pairs', ({ expect }) => {
    const pairs = [
      { baseUs: 100, newUs: 110 },
      { baseUs: 200, newUs: 200 },
      { baseUs: 50, newUs: 60 },
    ];
    expect(compare('enqueue', pairs)).toMatchObject({ baseUs: 100, newUs: 110, ratio: 1.1 });
  });
});
