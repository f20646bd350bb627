const maxPrefixes = 64;

interface IdRange {
  min: string;
  max: string;
}

/**
 * Which ids a set may hold: the smallest and the largest one of each prefix. Ids that sort by time then tell by
 * themselves that they are too new to be in an old set. Answers "maybe" too often, never "no" wrongly. ASCII only.
 */
export class IdRanges {
  readonly #byPrefix = new Map<number, IdRange>();
  /** Takes over when there are too many prefixes to be worth the memory. */
  #overall: IdRange | undefined;

  add(id: string): void {
    const prefix = prefixKey(id);
    const range = this.#overall ?? this.#byPrefix.get(prefix);
    if (range !== undefined) widen(range, id);
    else if (this.#byPrefix.size < maxPrefixes) this.#byPrefix.set(prefix, { min: id, max: id });
    else this.#giveUpPrefixes({ min: id, max: id });
  }

  /** Adds all that `other` may hold. */
  include(other: IdRanges): void {
    if (other.#overall) this.#giveUpPrefixes(other.#overall);
    for (const { min, max } of other.#byPrefix.values()) {
      this.add(min);
      this.add(max);
    }
  }

  /** As text, for {@link IdRanges.parse}. */
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

/** The prefix as a number, which is quicker to look up than a text cut out for it; what isn't there counts as 0. */
function prefixKey(id: string): number {
  return (id.charCodeAt(0) << 14) | (id.charCodeAt(1) << 7) | id.charCodeAt(2);
}

function widen(range: IdRange, id: string): void {
  if (id > range.max) range.max = id;
  if (id < range.min) range.min = id;
}
