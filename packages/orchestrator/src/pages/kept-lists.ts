/** A list that is kept for readers who read it page by page. */
interface Kept<List> {
  list: List;
  keptAtMs: number;
}

/** The time for which a list is kept for its readers, in milliseconds. */
const keptMs = 30_000;
/** Keeps the latest list of each owner for thirty seconds. */
export class KeptLists<List> {
  readonly #now: () => number;
  readonly #sharedMs: number;
  /** The lists by owner, oldest first. */
  readonly #kept = new Map<string, Kept<List>>();

  /**
   * `now` is in monotonic milliseconds. A list that is younger than `sharedMs` is also given to the next reader, so that
   * one reader does not take it away from another.
   */
  constructor(now: () => number, sharedMs = 0) {
    this.#now = now;
    this.#sharedMs = sharedMs;
  }

  /** Keeps `list` and returns it. If the owner's list is still to be shared, returns that one instead. */
  keep(owner: string, list: List): List {
    this.#dropOld();
    const now = this.#now();
    const kept = this.#kept.get(owner);
    if (kept && now - kept.keptAtMs < this.#sharedMs) return kept.list;
    this.#kept.delete(owner);
    this.#kept.set(owner, { list, keptAtMs: now });
    return list;
  }

  /** Returns the list of an owner while it is kept. */
  find(owner: string): List | undefined {
    this.#dropOld();
    return this.#kept.get(owner)?.list;
  }

  #dropOld(): void {
    const now = this.#now();
    for (const [owner, { keptAtMs }] of this.#kept) {
      if (now - keptAtMs < keptMs) return;
      this.#kept.delete(owner);
    }
  }
}
