import { LabelValues } from './label-values.ts';
import type { MetricFamily, MetricInfo, Sample } from './metric-family.ts';

/** The most values of one label that a counter counts separately. */
export const maxLabelValues = 32;

interface Cell {
  value: number;
}

/** Counts events by up to two labels. Counting allocates nothing once a series exists. */
export class Counter {
  readonly #info: MetricInfo;
  readonly #series: LabelValues<LabelValues<Cell>>;

  /** `values` bounds the values of each label. */
  constructor(info: MetricInfo, values = maxLabelValues) {
    this.#info = info;
    this.#series = new LabelValues(values, () => new LabelValues(values, () => ({ value: 0 })));
  }

  /** Counts `by` events under the values of the labels. A value for a label that the counter does not have is ignored. */
  add(first = '', second = '', by = 1): void {
    this.#series.of(first).of(second).value += by;
  }

  /** Returns the number of events, under all labels together. */
  total(): number {
    let total = 0;
    for (const [, inner] of this.#series.entries())
      for (const [, { value }] of inner.entries()) total += value;
    return total;
  }

  /** Returns the counts so far. A counter without labels always has its one series. */
  collect(): MetricFamily {
    const labels = this.#info.labels?.length ?? 0;
    if (labels === 0) this.add('', '', 0);
    const samples: Sample[] = [];
    for (const [first, inner] of this.#series.entries())
      for (const [second, { value }] of inner.entries())
        samples.push([[first, second].slice(0, labels), value]);
    return { ...this.#info, type: 'counter', samples };
  }
}
