/** A number of entries, and an index that is brought up to date when a key is looked up. */
class Generation<K, V> {
  readonly keys: K[] = [];
  readonly #values: V[] = [];
  readonly #index = new Map<K, V>();
  #indexed = 0;

  add(key: K, value: V): void {
    this.keys.push(key);
    this.#values.push(value);
  }

  /** Returns the index of all entries. */
  index(): Map<K, V> {
    for (; this.#indexed < this.keys.length; this.#indexed++) {
      this.#index.set(this.keys[this.#indexed]!, this.#values[this.#indexed]!);
    }
    return this.#index;
  }
}

/**
 * Remembers at least the last `size` keys and at most twice as many. It holds two generations and drops the older one whole, so
 * that no entry is expired by itself. Every request adds an entry and few are ever looked up, so adding only appends to an
 * array, and a lookup brings the index up to date (ADR 10).
 */
export class RecentMap<K, V> {
  readonly #size: number;
  #young = new Generation<K, V>();
  #old = new Generation<K, V>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Adds an entry. A key that is added again has its newest value. */
  set(key: K, value: V): void {
    this.#young.add(key, value);
    if (this.#young.keys.length < this.#size) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }

  get(key: K): V | undefined {
    return this.#young.index().get(key) ?? this.#old.index().get(key);
  }

  delete(key: K): void {
    this.#young.index().delete(key);
    this.#old.index().delete(key);
  }
}
