import { type SampledSeries, type SamplesQuery, type SamplesReply, sampleLimits } from '@signalbox/protocol';
import { quantileOf } from '../metrics/histogram.ts';
import { otherValue } from '../metrics/label-values.ts';
import type { Sample, SampledMetric, SampledValue } from './sample.ts';

const defaultPoints = 120;
/** The most numbers that a request holds while it is worked on: 8 MB. Usual requests hold a tenth. */
const mostCells = 1_000_000;
/** The lengths of the shortest slots, in milliseconds. */
const shortest = { second: 1000, minute: 60_000 };

/** Tells whether a request is answered from samples of a second. */
export function readsSeconds({ last_ms }: Pick<SamplesQuery, 'last_ms'>): boolean {
  return last_ms <= sampleLimits.secondsMs;
}

/** Puts samples into the slots of a request, one after the other. They may come in any order, except those of one slot. */
export class SampleSlots {
  readonly #query: SamplesQuery;
  readonly #metrics: ReadonlyMap<string, SampledMetric>;
  readonly #now: number;
  readonly #from: number;
  readonly #slotMs: number;
  readonly #covered: number[];
  readonly #series: Map<string, Series>[];
  #oldest: number | undefined;
  /** The numbers that all series hold. */
  #cells = 0;

  /** `now` is in epoch milliseconds. */
  constructor(query: SamplesQuery, metrics: ReadonlyMap<string, SampledMetric>, now: number) {
    const { last_ms: lastMs, points = defaultPoints } = query;
    this.#query = query;
    this.#metrics = metrics;
    this.#now = now;
    if (points === 1) {
      this.#slotMs = lastMs;
      this.#from = now - lastMs;
    } else {
      const least = shortest[readsSeconds(query) ? 'second' : 'minute'];
      this.#slotMs = Math.ceil(lastMs / points / least) * least;
      // Slots begin at whole multiples of their length, so that a reader who asks again sees the same slots.
      this.#from = Math.ceil((now - lastMs) / this.#slotMs) * this.#slotMs;
    }
    this.#covered = new Array<number>(Math.max(1, Math.ceil((now - this.#from) / this.#slotMs))).fill(0);
    this.#series = query.of.map(() => new Map());
  }

  /** Adds a sample, if it lies in a slot. A sample belongs to the slot in which it ends. */
  add({ at, ms, figures }: Sample): void {
    this.#oldest = Math.min(this.#oldest ?? at, at);
    const slot = Math.ceil((at - this.#from) / this.#slotMs) - 1;
    if (slot < 0 || slot >= this.#covered.length) return;
    this.#covered[slot]! += ms;
    for (const [index, { metric, by = [], where = {} }] of this.#query.of.entries()) {
      const { type, labels, buckets } = this.#metrics.get(metric)!;
      const isAge = metric.endsWith('_age_seconds');
      const series = this.#series[index]!;
      const isWanted = ([values]: SampledValue): boolean =>
        Object.entries(where).every(([label, value]) => values[labels.indexOf(label)] === value);
      const kept = labels.map((label) => by.includes(label));
      const touched = new Set<Series>();
      for (const value of figures[metric] ?? []) {
        if (!isWanted(value)) continue;
        const own = value[0].filter((_, at) => kept[at]);
        const one = this.#seriesOf(series, own, type === 'gauge' ? 'gauge' : buckets.length);
        if (type === 'gauge') one.stands(slot, value[1] as number, { isAge, isFirst: !touched.has(one) });
        else one.grows(slot, value);
        touched.add(one);
      }
      // What has no value any more stands at none, and not at its last one.
      if (type === 'gauge') for (const one of series.values()) if (!touched.has(one)) one.isGone(slot);
    }
  }

  /** Returns the series of some labels. When the request takes too much memory, new ones share one. */
  #seriesOf(series: Map<string, Series>, labels: readonly string[], of: number | 'gauge'): Series {
    const known = series.get(labels.join('\0'));
    if (known) return known;
    const own = this.#cells < mostCells ? labels : labels.map(() => otherValue);
    const key = own.join('\0');
    const one = series.get(key) ?? new Series(own, this.#covered.length, of);
    if (!series.has(key)) this.#cells += one.cells;
    series.set(key, one);
    return one;
  }

  /** Returns the answer. */
  reply(): SamplesReply {
    const most = Math.max(4, Math.floor(sampleLimits.numbers / this.#covered.length / this.#query.of.length));
    return {
      now: this.#now,
      ...(this.#oldest !== undefined && { oldest: this.#oldest }),
      from: this.#from,
      slot_ms: this.#slotMs,
      covered_ms: this.#covered,
      series: this.#query.of.flatMap(({ metric, by = [] }, index) => {
        const { type, labels, buckets } = this.#metrics.get(metric)!;
        const named = labels.filter((label) => by.includes(label));
        const each = type === 'histogram' ? 5 : 1;
        return largest([...this.#series[index]!.values()], Math.max(4, Math.floor(most / each))).map(
          (one) => ({
            metric,
            labels: Object.fromEntries(named.map((label, at) => [label, one.labels[at] ?? otherValue])),
            ...one.shown(type, buckets, this.#covered),
          }),
        );
      }),
    };
  }
}

/** Returns the largest series, and one more for all others. */
function largest(series: readonly Series[], most: number): Series[] {
  const sorted = [...series].sort((one, other) => other.size - one.size);
  if (sorted.length <= most) return sorted;
  const [first, ...others] = sorted.slice(most - 1) as [Series, ...Series[]];
  for (const other of others) first.takeOver(other);
  return [...sorted.slice(0, most - 1), first];
}

/** The values of one series in all slots. */
class Series {
  labels: readonly string[];
  /** Of a counter or gauge. A gauge without a value is NaN. */
  readonly #values: Float64Array;
  /** Of a histogram: the counts of all buckets, slot after slot. */
  readonly #counts: Float64Array;
  readonly #perSlot: number;

  /** `of` is the number of buckets of a histogram, and 0 for a counter. */
  constructor(labels: readonly string[], slots: number, of: number | 'gauge') {
    this.labels = labels;
    const isGauge = of === 'gauge';
    this.#perSlot = isGauge || of === 0 ? 0 : of + 1;
    this.#values = new Float64Array(slots).fill(isGauge ? Number.NaN : 0);
    this.#counts = new Float64Array(slots * this.#perSlot);
  }

  /** The numbers that it holds. */
  get cells(): number {
    return this.#values.length + this.#counts.length;
  }

  /** How much there is of it: for which series an answer has room. */
  get size(): number {
    const of = this.#perSlot > 0 ? this.#counts : this.#values;
    return of.reduce((sum, value) => sum + (value || 0), 0);
  }

  /** Adds what a counter or a histogram had more in a sample. */
  grows(slot: number, [, more, sum = 0]: SampledValue): void {
    if (typeof more === 'number') {
      this.#values[slot]! += more;
      return;
    }
    this.#values[slot]! += sum;
    const begin = slot * this.#perSlot;
    for (const [at, count] of more.entries()) if (at < this.#perSlot) this.#counts[begin + at]! += count;
  }

  /** Notes where a gauge stood. The newest sample of a slot counts; in it, values of several labels are put together. */
  stands(slot: number, value: number, { isAge, isFirst }: { isAge: boolean; isFirst: boolean }): void {
    const known = isFirst ? 0 : this.#values[slot]!;
    this.#values[slot] = isAge ? Math.max(known, value) : known + value;
  }

  isGone(slot: number): void {
    this.#values[slot] = Number.NaN;
  }

  /** Adds another series, so that this one stands for both. */
  takeOver(other: Series): void {
    this.labels = this.labels.map(() => otherValue);
    for (const [at, value] of other.#values.entries())
      if (!Number.isNaN(value)) this.#values[at] = (this.#values[at] || 0) + value;
    for (const [at, count] of other.#counts.entries()) this.#counts[at]! += count;
  }

  /** Returns its numbers. Where nothing was sampled there are none. */
  shown(
    type: SampledMetric['type'],
    buckets: readonly number[],
    covered: readonly number[],
  ): Omit<SampledSeries, 'metric' | 'labels'> {
    const valueAt = (value: number | undefined, at: number): number | null =>
      value === undefined || Number.isNaN(value) || covered[at] === 0 ? null : rounded(value);
    const values = Array.from(this.#values, valueAt);
    if (type !== 'histogram') return { values };
    const slots = covered.map((_, at) => this.#counts.subarray(at * this.#perSlot, (at + 1) * this.#perSlot));
    const quantile = (share: number) =>
      slots.map((counts, at) => valueAt(quantileOf(counts, buckets, share), at));
    return {
      counts: slots.map((counts, at) =>
        valueAt(
          counts.reduce((sum, count) => sum + count, 0),
          at,
        ),
      ),
      sums: values,
      p50: quantile(0.5),
      p95: quantile(0.95),
      p99: quantile(0.99),
    };
  }
}

/** Rounds to a millionth: an answer needs no more, and gets shorter. */
function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
