const maxPrefixes = 64;

interface IdRange {
  min: string;
  max: string;
}

/**
 * Tells which ids a set may hold, by the smallest and the largest id of each prefix. New ids that sort by time lie outside the ranges of
 * all older ones. The answer may be "maybe" for an id that is not in the set, but it is never "no" for one that is. Ids must be ASCII.
 */
export class IdRanges {
  readonly #byPrefix = new Map<number, IdRange>();
  /** A single range for all ids, which replaces too many prefixes. */
  #overall: IdRange | undefined;

  add(id: string): void {
    const prefix = prefixKey(id);
    const range = this.#overall ?? this.#byPrefix.get(prefix);
    if (range !== undefined) widen(range, id);
    else if (this.#byPrefix.size < maxPrefixes) this.#byPrefix.set(prefix, { min: id, max: id });
    else this.#giveUpPrefixes({ min: id, max: id });
  }

  /** Adds all ids that `other` may hold. */
  include(other: IdRanges): void {
    if (other.#overall) this.#giveUpPrefixes(other.#overall);
    for (const { min, max } of other.#byPrefix.values()) {
      this.add(min);
      this.add(max);
    }
  }

  /** Encodes the ranges for {@link IdRanges.parse}. */
  toString(): string {
    return JSON.stringify({ overall: this.#overall, byPrefix: [...this.#byPrefix.values()] });
  }

  static parse(text: string): IdRanges {
    const { overall, byPrefix } = JSON.parse(text) as { overall?: IdRange; byPrefix: IdRange[] };
    const ranges = new IdRanges();
    ranges.#overall = overall;
    for (const range of byPrefix) ranges.#byPrefix.set(prefixKey(range.min), range);
    return ranges;
  }

  mayHold(id: string): boolean {
    const range = this.#overall ?? this.#byPrefix.get(prefixKey(id));
    return range !== undefined && id >= range.min && id <= range.max;
  }

  #giveUpPrefixes(added: IdRange): void {
    const overall = this.#overall ?? { ...added };
    for (const { min, max } of [added, ...this.#byPrefix.values()]) {
      widen(overall, min);
      widen(overall, max);
    }
    this.#overall = overall;
    this.#byPrefix.clear();
  }
}

/** Returns the prefix as a number, because numbers are quicker to look up than substrings. Missing characters count as 0. */
function prefixKey(id: string): number {
  return (id.charCodeAt(0) << 14) | (id.charCodeAt(1) << 7) | id.charCodeAt(2);
}

function widen(range: IdRange, id: string): void {
  if (id > range.max) range.max = id;
  if (id < range.min) range.min = id;
}
