/**
 * A map for values that pass through by the thousand. A `Map` that is added to and deleted from replaces its table now and
 * then; V8 links the replaced ones to their successors, and one that has reached the old generation keeps all after it,
 * with what was in them, until the next full collection. Here each value hangs on a slot that is emptied when it leaves, so
 * that what it refers to (bodies, batches of text) is freed while it is young.
 */
export class PassingMap<V> {
  readonly #slots = new Map<string, { value: V | undefined }>();

  get size(): number {
    return this.#slots.size;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  get(key: string): V | undefined {
    return this.#slots.get(key)?.value;
  }

  set(key: string, value: V): void {
    const slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, { value });
    else slot.value = value;
  }

  delete(key: string): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    slot.value = undefined;
    return this.#slots.delete(key);
  }

  /** A copy, in the order in which their keys came. */
  values(): V[] {
    return Array.from(this.#slots.values(), ({ value }) => value!);
  }

  clear(): void {
    for (const slot of this.#slots.values()) slot.value = undefined;
    this.#slots.clear();
  }
}
