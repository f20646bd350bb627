/** The value of a label that stands for all values beyond the bound. */
export const otherValue = 'other';

/**
 * The series of a metric by the value of a label. Clients may choose these values freely, so that only the first `limit` of them get a
 * series of their own; the others share one, `other`, or the few that the caller names.
 */
export class LabelValues<Series> {
  readonly #limit: number;
  readonly #newSeries: (value: string) => Series;
  readonly #series = new Map<string, Series>();

  constructor(limit: number, newSeries: (value: string) => Series) {
    this.#limit = limit;
    this.#newSeries = newSeries;
  }

  /** Returns the series of a value; beyond the limit that of `shared`. */
  of(value: string, shared = () => otherValue): Series {
    return this.#series.get(value) ?? this.#add(value, shared);
  }

  /** Returns all values that have a series. */
  entries(): Iterable<[value: string, series: Series]> {
    return this.#series;
  }

  #add(value: string, shared: () => string): Series {
    const name = this.#series.size < this.#limit ? value : shared();
    const known = this.#series.get(name);
    if (known !== undefined) return known;
    const series = this.#newSeries(name);
    this.#series.set(name, series);
    return series;
  }
}
