/** The name of a metric, its meaning, and the names of its labels. */
export interface MetricInfo {
  /** The name. It begins with `signalbox_` and ends with its base unit; the name of a counter ends with `_total`. */
  readonly name: string;
  /** The meaning: one sentence for people. */
  readonly help: string;
  readonly labels?: readonly string[];
}

/** The value of a counter or gauge for one set of labels, whose values come in the order of their names. */
export type Sample = readonly [labels: readonly string[], value: number];

/**
 * The observations of a histogram for one set of labels. `counts` has one entry for each bucket, not cumulative, and a last one for
 * observations above all buckets.
 */
export type HistogramSample = readonly [labels: readonly string[], counts: readonly number[], sum: number];

/** All series of one metric at one moment. */
export type MetricFamily =
  | (MetricInfo & { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] })
  | (MetricInfo & {
      readonly type: 'histogram';
      /** The upper bounds, in ascending order. */
      readonly buckets: readonly number[];
      readonly samples: readonly HistogramSample[];
    });

/** Makes a family of values that are known when it is read. */
export function gauge(info: MetricInfo, samples: readonly Sample[] | number): MetricFamily {
  return { ...info, type: 'gauge', samples: typeof samples === 'number' ? [[[], samples]] : samples };
}
