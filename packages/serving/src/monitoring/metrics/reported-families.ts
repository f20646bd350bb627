import type { MetricFamily, MetricInfo } from './metric-family.ts';

/** A metric whose values another process reports. */
export interface ReportedMetric extends MetricInfo {
  readonly type: MetricFamily['type'];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** The samples of one metric, each with the values of its labels first. They have the shape of the metric's type. */
type ReportedSamples = readonly (readonly [labels: readonly string[], ...values: unknown[]])[];

/** The figures that one process reports about itself: samples by the keys of the metrics. */
export interface Reported {
  /** The value of the first label of all its samples. */
  by: string;
  figures: { readonly [key: string]: ReportedSamples | undefined };
}

/** Makes families of the figures that processes report about themselves. Their first label, `label`, names the process. */
export function reportedFamilies(
  metrics: { readonly [key: string]: ReportedMetric },
  label: string,
  reports: readonly Reported[],
): MetricFamily[] {
  return Object.entries(metrics).map(([key, { type, name, help, labels = [], buckets = [] }]) => {
    const samples = reports.flatMap(({ by, figures }) =>
      (figures[key] ?? []).map(([own, ...values]) => [[by, ...own], ...values]),
    );
    return { name, help, labels: [label, ...labels], type, buckets, samples } as unknown as MetricFamily;
  });
}
