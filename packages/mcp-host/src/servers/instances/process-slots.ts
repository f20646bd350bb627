/** What holds a slot: a process that runs, or may start again any moment. */
export interface SlotHolder {
  /** Since when nobody has used it, in monotonic milliseconds; `undefined` while it can't be spared. */
  readonly idleSinceMs: number | undefined;
  /** Ends it, because somebody else needs its slot. Resolves when its process has exited. */
  evict(): Promise<void>;
}

/** The processes of all servers together, up to a limit. */
export class ProcessSlots {
  /** How many processes may run at a time. */
  readonly max: number;
  readonly #holders = new Set<SlotHolder>();
  readonly #waiters = new Set<() => void>();

  constructor(max: number) {
    this.max = max;
  }

  /**
   * Takes a slot, if need be that of the holder that has been idle longest; the promise resolves when the process may
   * start. `undefined` when every slot is in use.
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

  free(holder: SlotHolder): void {
    if (this.#holders.delete(holder)) this.notifyWaiters();
  }

  /** Calls `again` once, when a slot may be had that wasn't before. Returns the way to stop that. */
  onSlotFree(again: () => void): () => void {
    this.#waiters.add(again);
    return () => this.#waiters.delete(again);
  }

  /** A slot is free, or a holder is idle now. */
  notifyWaiters(): void {
    for (const again of [...this.#waiters]) {
      this.#waiters.delete(again);
      again();
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
