/** Few, so that little is kept; many, so that copying what is still here costs nothing. */
const addsPerMap = 1_000;

/**
 * A map for values that pass through by the thousand. A `Map` that is added to and deleted from replaces its table now and
 * then; V8 links the replaced ones to their successors, and one that has reached the old generation keeps all after it,
 * with what was in them, until the next full collection. So the `Map` is left for a new one now and then, which ends the
 * chain; and each value hangs on a slot that is emptied when it leaves, so that what it refers to (bodies, batches of text)
 * is freed while it is young.
 */
export class PassingMap<V> {
  #slots = new Map<string, { value: V | undefined }>();
  #addsLeft = addsPerMap;

  get size(): number {
    return this.#slots.size;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  get(key: string): V | undefined {
    return this.#slots.get(key)?.value;
  }

  /** Adds a value under a key that has none. */
  add(key: string, value: V): void {
    this.#slots.set(key, { value });
    if (--this.#addsLeft === 0) this.#renew();
  }

  /** Takes a value out. */
  take(key: string): V | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    const { value } = slot;
    slot.value = undefined;
    this.#slots.delete(key);
    return value;
  }

  /** A copy, in the order in which their keys came. */
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
