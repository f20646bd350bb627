import { LabelValues } from './label-values.ts';
import type { MetricFamily, MetricInfo } from './metric-family.ts';

/** Counts values by fixed buckets. Observing a value allocates nothing. */
export class Histogram {
  readonly #info: MetricInfo;
  readonly #buckets: readonly number[];
  readonly #observed: Observed;

  /** `buckets` are upper bounds in ascending order. */
  constructor(info: MetricInfo, buckets: readonly number[]) {
    this.#info = info;
    this.#buckets = buckets;
    this.#observed = new Observed(buckets);
  }

  /** Counts one value. */
  observe(value: number): void {
    this.#observed.add(value);
  }

  /** Returns the number of observed values, and their sum. */
  total(): { count: number; sum: number } {
    const { counts, sum } = this.#observed;
    return { count: counts.reduce((all, count) => all + count, 0), sum };
  }

  /** Estimates the value below which a share of the observed values is (0 to 1), within its bucket; `undefined` without values. */
  quantile(share: number): number | undefined {
    return quantileOf(this.#observed.counts, this.#buckets, share);
  }

  /** Returns the observations so far. */
  collect(): MetricFamily {
    const { counts, sum } = this.#observed;
    return { ...this.#info, type: 'histogram', buckets: this.#buckets, samples: [[[], [...counts], sum]] };
  }
}

/** A histogram with labels. At most `limit` sets of labels have a series of their own; all others share one, whose labels are `other`. */
export class LabelledHistogram {
  readonly #info: MetricInfo;
  readonly #buckets: readonly number[];
  readonly #series: LabelValues<Labelled>;

  constructor(info: MetricInfo, buckets: readonly number[], limit: number) {
    this.#info = info;
    this.#buckets = buckets;
    const names = info.labels ?? [];
    this.#series = new LabelValues(limit, (key) => ({
      labels: key.startsWith('[') ? (JSON.parse(key) as string[]) : names.map(() => key),
      observed: new Observed(buckets),
    }));
  }

  /** Counts one value under the values of the labels. */
  observe(labels: readonly string[], value: number): void {
    this.#series.of(JSON.stringify(labels)).observed.add(value);
  }

  /** Returns the observations so far. */
  collect(): MetricFamily {
    const samples = Array.from(
      this.#series.entries(),
      ([, { labels, observed }]) => [labels, Array.from(observed.counts), observed.sum] as const,
    );
    return { ...this.#info, type: 'histogram', buckets: this.#buckets, samples };
  }
}

/** A series with the values of its labels. */
interface Labelled {
  readonly labels: readonly string[];
  readonly observed: Observed;
}

class Observed {
  readonly #buckets: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.counts = new Float64Array(buckets.length + 1);
  }

  add(value: number): void {
    const buckets = this.#buckets;
    let at = 0;
    while (at < buckets.length && value > buckets[at]!) at++;
    this.counts[at]!++;
    this.sum += value;
  }
}

/**
 * Estimates the value below which a share of the counted values is (0 to 1), within its bucket; `undefined` without values. `counts` are not
 * cumulative, and have a last entry for values above all buckets.
 */
export function quantileOf(
  counts: ArrayLike<number>,
  buckets: readonly number[],
  share: number,
): number | undefined {
  let left = 0;
  for (let at = 0; at < counts.length; at++) left += counts[at]!;
  if (left === 0) return undefined;
  left *= share;
  for (let at = 0; at < counts.length; at++) {
    const lower = buckets[at - 1] ?? 0;
    const upper = buckets[at];
    // The last bucket has no upper end.
    if (upper === undefined) return lower;
    if (left <= counts[at]!) return lower + ((upper - lower) * left) / counts[at]!;
    left -= counts[at]!;
  }
  return undefined;
}
