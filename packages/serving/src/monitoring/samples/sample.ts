import type { MetricFamily } from '../metrics/metric-family.ts';

/** What is known of one series: its labels, and a value, or the counts of its buckets with their sum. Zeros at the end of counts are left out. */
export type SampledValue =
  | readonly [labels: readonly string[], value: number]
  | readonly [labels: readonly string[], counts: readonly number[], sum: number];

/** What happened in a time of a process, and how things stood at its end. */
export interface Sample {
  /** The end of this time, in epoch milliseconds. */
  readonly at: number;
  /** Its length in milliseconds. */
  readonly ms: number;
  /** By the names of the metrics. Counters and histograms have what was added, and no series that stood still. */
  readonly figures: Readonly<Record<string, readonly SampledValue[]>>;
}

/** A metric that is sampled, without its values. */
export type SampledMetric = Pick<MetricFamily, 'type'> & {
  readonly labels: readonly string[];
  readonly buckets: readonly number[];
};

/** Returns what is known of the metrics before they have values, by their names. */
export function metricsOf(families: readonly MetricFamily[]): Map<string, SampledMetric> {
  return new Map(
    families.map((family) => {
      const { type, name, labels = [] } = family;
      return [name, { type, labels, buckets: type === 'histogram' ? family.buckets : [] }];
    }),
  );
}

/** Turns totals that grow since the start of a process into what was added between one look and the next. */
export class Growth {
  readonly #before = new Map<string, number | { counts: readonly number[]; sum: number }>();

  /** Returns the figures since the last call, or since the start of the process. */
  since(families: readonly MetricFamily[]): Sample['figures'] {
    const figures: Record<string, readonly SampledValue[]> = {};
    for (const family of families) {
      const values = this.#valuesOf(family);
      if (values.length > 0) figures[family.name] = values;
    }
    return figures;
  }

  #valuesOf(family: MetricFamily): readonly SampledValue[] {
    const { name } = family;
    if (family.type === 'histogram') return family.samples.flatMap((one) => this.#observed(name, one));
    return family.type === 'gauge'
      ? family.samples
      : family.samples.flatMap((one) => this.#counted(name, one));
  }

  #counted(name: string, [labels, value]: readonly [readonly string[], number]): SampledValue[] {
    const key = keyOf(name, labels);
    const before = this.#before.get(key) as number | undefined;
    this.#before.set(key, value);
    const added = value - (before ?? 0);
    return added > 0 ? [[labels, added]] : [];
  }

  #observed(
    name: string,
    [labels, counts, sum]: readonly [readonly string[], readonly number[], number],
  ): SampledValue[] {
    const key = keyOf(name, labels);
    const before = this.#before.get(key) as { counts: readonly number[]; sum: number } | undefined;
    const added: number[] = [];
    // Hundreds of series are looked at each second: an iterator for each would take most of the time.
    for (let at = 0; at < counts.length; at++) {
      const more = counts[at]! - (before?.counts[at] ?? 0);
      if (more <= 0) continue;
      while (added.length < at) added.push(0);
      added.push(more);
    }
    if (added.length === 0) return [];
    this.#before.set(key, { counts, sum });
    return [[labels, added, Math.round((sum - (before?.sum ?? 0)) * 1e6) / 1e6]];
  }
}

/** Puts samples that follow each other together to one of the whole time. */
export function mergeSamples(
  samples: readonly Sample[],
  metrics: ReadonlyMap<string, SampledMetric>,
): Sample {
  const figures: Record<string, readonly SampledValue[]> = {};
  for (const [name, { type }] of metrics) {
    const values =
      type === 'gauge'
        ? samples.at(-1)?.figures[name]
        : sumOf(samples.flatMap((one) => one.figures[name] ?? []));
    if (values !== undefined && values.length > 0) figures[name] = values;
  }
  const ms = samples.reduce((sum, one) => sum + one.ms, 0);
  return { at: samples.at(-1)?.at ?? 0, ms, figures };
}

function sumOf(values: readonly SampledValue[]): SampledValue[] {
  const sums = new Map<string, SampledValue>();
  for (const value of values) {
    const key = keyOf('', value[0]);
    const known = sums.get(key);
    sums.set(key, known === undefined ? value : addedTo(known, value));
  }
  return [...sums.values()];
}

function addedTo(
  [labels, before, beforeSum = 0]: SampledValue,
  [, more, moreSum = 0]: SampledValue,
): SampledValue {
  if (typeof before === 'number' || typeof more === 'number') return [labels, Number(before) + Number(more)];
  const counts = Array.from(
    { length: Math.max(before.length, more.length) },
    (_, at) => (before[at] ?? 0) + (more[at] ?? 0),
  );
  return [labels, counts, beforeSum + moreSum];
}

function keyOf(name: string, labels: readonly string[]): string {
  return `${name}\0${labels.join('\0')}`;
}
