import { median } from '../statistics.ts';

/** The processor time of one operation in the base and in the new bundle, measured in turn, in microseconds. */
export interface Pair {
  baseUs: number;
  newUs: number;
}

/** The figures of one operation over all pairs. A ratio above 1 means that the new bundle costs more. */
export interface Comparison {
  operation: string;
  /** Medians of the pairs. */
  baseUs: number;
  newUs: number;
  /** The median of the ratios of the pairs. */
  ratio: number;
  /** The median of the ratios is at least that, with a probability of 95 %. */
  lowerBound: number;
  isSlower: boolean;
}

/** The lower bound above which an operation has become slower. */
export const tolerated = 1.03;

/** The numbers of pairs that a run may have. */
export const leastPairs = 10;
export const mostPairs = 1000;

/** Compares the two sides of one operation. */
export function compare(operation: string, pairs: readonly Pair[]): Comparison {
  const ratios = pairs.map(({ baseUs, newUs }) => newUs / baseUs);
  const bound = lowerBound(ratios);
  return {
    operation,
    baseUs: median(pairs.map(({ baseUs }) => baseUs)),
    newUs: median(pairs.map(({ newUs }) => newUs)),
    ratio: median(ratios),
    lowerBound: bound,
    isSlower: bound > tolerated,
  };
}

/**
 * Returns the exact lower 95 % bound of the median from which these values were drawn, for any distribution: the `k`-th smallest
 * value. The median is below it only if fewer than `k` of `n` values are below the median, which has the probability P(B < k) for B
 * binomial with `n` and one half. `k` is the largest number for which that is at most 5 %: 2 of 10 values, 6 of 20, 42 of 100. Fewer than
 * 5 values have no bound: -Infinity. The powers of one half stay numbers up to {@link mostPairs} values.
 */
export function lowerBound(values: readonly number[]): number {
  const k = rankOfBound(values.length);
  return k === 0 ? Number.NEGATIVE_INFINITY : values.toSorted((a, b) => a - b)[k - 1]!;
}

function rankOfBound(n: number): number {
  let probability = 2 ** -n;
  let below = probability;
  let k = 0;
  while (below <= 0.05) {
    k++;
    probability *= (n - k + 1) / k;
    below += probability;
  }
  return k;
}

/** Returns the figures as a table for a screen. */
export function tableOf(comparisons: readonly Comparison[]): string {
  const rows = [
    ['operation', 'base µs', 'new µs', 'median ratio', 'lower bound', 'verdict'],
    ...comparisons.map(({ operation, baseUs, newUs, ratio, lowerBound: bound, isSlower }) => [
      operation,
      baseUs.toFixed(1),
      newUs.toFixed(1),
      ratio.toFixed(3),
      bound.toFixed(3),
      isSlower ? 'SLOWER' : 'ok',
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))),
    )
    .map((cells) => cells.join('  '))
    .join('\n');
}
