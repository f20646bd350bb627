import { LabelValues, otherValue } from './label-values.ts';
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

/**
 * A histogram with labels. At most `limit` sets of labels have a series of their own. All others share one, whose labels are `other`, but
 * for the labels of `told`, which have few values: each of their values keeps a series.
 */
export class LabelledHistogram {
  readonly #info: MetricInfo;
  readonly #buckets: readonly number[];
  readonly #series: LabelValues<Labelled>;
  readonly #isTold: readonly boolean[];

  constructor(info: MetricInfo, buckets: readonly number[], limit: number, told: readonly string[] = []) {
    this.#info = info;
    this.#buckets = buckets;
    this.#isTold = (info.labels ?? []).map((name) => told.includes(name));
    this.#series = new LabelValues(limit, (key) => ({
      labels: JSON.parse(key) as string[],
      observed: new Observed(buckets),
    }));
  }

  /** Counts one value under the values of the labels. */
  observe(labels: readonly string[], value: number): void {
    const shared = () => JSON.stringify(labels.map((own, at) => (this.#isTold[at] ? own : otherValue)));
    this.#series.of(JSON.stringify(labels), shared).observed.add(value);
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
