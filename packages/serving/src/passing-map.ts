/** Large enough that copying the remaining entries costs next to nothing, small enough that little garbage is kept. */
const addsPerMap = 1_000;

/**
 * A map for entries that stay only briefly, thousands in a second. A plain `Map` in this use is slow to collect (ADR 10): V8
 * replaces its table now and then and links each replaced table to its successor, so that one table in the old generation
 * keeps all later ones, with their entries, until the next full collection. This map therefore begins a new `Map` after
 * every thousand entries, which ends the chain, and empties the slot of each entry that is taken out, so that what the
 * entry refers to is freed while it is young.
 */
export class PassingMap<V, K = string> {
  #slots = new Map<K, { value: V | undefined }>();
  #addsLeft = addsPerMap;

  get size(): number {
    return this.#slots.size;
  }

  has(key: K): boolean {
    return this.#slots.has(key);
  }

  get(key: K): V | undefined {
    return this.#slots.get(key)?.value;
  }

  /** Adds a value under a key that has none. */
  add(key: K, value: V): void {
    this.#slots.set(key, { value });
    if (--this.#addsLeft === 0) this.#renew();
  }

  /** Removes a key and returns its value. */
  take(key: K): V | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    const { value } = slot;
    slot.value = undefined;
    this.#slots.delete(key);
    return value;
  }

  /** Returns a copy of the values, in the order in which their keys were added. */
  values(): V[] {
    return Array.from(this.#slots.values(), ({ value }) => value!);
  }

  clear(): void {
    for (const slot of this.#slots.values()) slot.value = undefined;
    this.#slots.clear();
  }

  #renew(): void {
    this.#slots = new Map(this.#slots);
    this.#addsLeft = Math.max(addsPerMap, this.#slots.size);
  }
}
