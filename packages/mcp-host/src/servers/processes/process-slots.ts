/** The owner of a slot: a process that runs, or may be started again any moment. */
export interface SlotHolder {
  /** The time since which nobody has used it, in monotonic milliseconds; `undefined` while it must not be evicted. */
  readonly idleSinceMs: number | undefined;
  /** Ends the process, because another one needs the slot. Resolves when it has exited. */
  evict(): Promise<void>;
}

/** Limits the processes of all servers together. */
export class ProcessSlots {
  /** The number of processes that may run at a time. */
  readonly max: number;
  readonly #holders = new Set<SlotHolder>();
  readonly #listeners = new Set<() => void>();

  constructor(max: number) {
    this.max = max;
  }

  /**
   * Takes a slot, if necessary that of the holder that has been idle longest; the promise resolves when the process may start. Returns
   * `undefined` when every slot is in use.
   */
  take(holder: SlotHolder): Promise<void> | undefined {
    let vacated = Promise.resolve();
    if (!this.#holders.has(holder) && this.#holders.size >= this.max) {
      const idle = this.#longestIdle();
      if (!idle) return undefined;
      this.#holders.delete(idle);
      vacated = idle.evict();
    }
    this.#holders.add(holder);
    return vacated;
  }

  /** Gives a slot back, after its process has exited. */
  free(holder: SlotHolder): void {
    if (this.#holders.delete(holder)) this.announceFreeSlot();
  }

  /** Calls `listener` once, when a slot that was in use may be taken. Returns a function that removes the listener. */
  onSlotFree(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listeners, because a slot is free or its holder is idle now. */
  announceFreeSlot(): void {
    if (this.#listeners.size === 0) return;
    for (const listener of [...this.#listeners]) {
      this.#listeners.delete(listener);
      listener();
    }
  }

  #longestIdle(): SlotHolder | undefined {
    let longest: SlotHolder | undefined;
    for (const holder of this.#holders) {
      const since = holder.idleSinceMs;
      if (since !== undefined && since < (longest?.idleSinceMs ?? Number.POSITIVE_INFINITY)) longest = holder;
    }
    return longest;
  }
}
