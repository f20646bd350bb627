/** The time until an inbox whose reading failed is read again, in milliseconds. */
const againAfterMs = 1000;

/** Remembers who has an inbox whose reading failed. Until something happens there, nothing else would have it read again. */
export class FailedReads {
  readonly #failed = new Map<object, { since: number; readAgain: () => void }>();
  readonly #monotonic: () => number;

  /** `monotonic` returns monotonic milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Adds the holder of an inbox. `readAgain` is called once, by {@link readAgain}. */
  add(holder: object, readAgain: () => void): void {
    this.#failed.set(holder, { since: this.#monotonic(), readAgain });
  }

  /** Has each inbox read again whose reading failed a second ago or earlier. */
  readAgain(): void {
    if (this.#failed.size === 0) return;
    const now = this.#monotonic();
    for (const [holder, { since, readAgain }] of [...this.#failed]) {
      if (now - since < againAfterMs) continue;
      this.#failed.delete(holder);
      readAgain();
    }
  }
}
