const prefixLength = 3;
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
  readonly #byPrefix = new Map<string, IdRange>();
  /** Takes over when there are too many prefixes to be worth the memory. */
  #overall: IdRange | undefined;

  add(id: string): void {
    const prefix = idPrefix(id);
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

  mayHold(id: string): boolean {
    const range = this.#overall ?? this.#byPrefix.get(idPrefix(id));
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

/** The last text that an id with the prefix of `id` can sort to, so that a search for the next prefix starts there. */
export function endOfPrefix(id: string): string {
  return id.length < prefixLength ? id : `${idPrefix(id)}\x7f`;
}

function idPrefix(id: string): string {
  return id.slice(0, prefixLength);
}

function widen(range: IdRange, id: string): void {
  if (id > range.max) range.max = id;
  if (id < range.min) range.min = id;
}
