/** What was added, and an index of it that is brought up to date when something is looked up. */
class Generation<K, V> {
  readonly keys: K[] = [];
  readonly #values: V[] = [];
  readonly #index = new Map<K, V>();
  #indexed = 0;

  add(key: K, value: V): void {
    this.keys.push(key);
    this.#values.push(value);
  }

  /** Key by key what it holds now. */
  index(): Map<K, V> {
    for (; this.#indexed < this.keys.length; this.#indexed++) {
      this.#index.set(this.keys[this.#indexed]!, this.#values[this.#indexed]!);
    }
    return this.#index;
  }
}

/**
 * Remembers at least the last `size` keys and at most twice as many, in two generations: nothing has to be expired one by
 * one. Adding, which happens at any rate, costs an array write or two; looking up, which is rare, does the rest.
 */
export class RecentMap<K, V> {
  readonly #size: number;
  #young = new Generation<K, V>();
  #old = new Generation<K, V>();

  constructor(size: number) {
    this.#size = size;
  }

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
