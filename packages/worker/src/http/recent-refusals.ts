/** Remembers the newest refusals, at most `maxEntries`, each for `forMs` milliseconds. */
export class RecentRefusals<Refusal> {
  readonly #entries = new Map<string, { refusal: Refusal; until: number }>();
  readonly #options: { forMs: number; maxEntries: number; now: () => number };

  /** Creates an empty memory. `now` returns monotonic milliseconds. */
  constructor(options: { forMs: number; maxEntries: number; now: () => number }) {
    this.#options = options;
  }

  /** Remembers a refusal. */
  add(key: string, refusal: Refusal): void {
    this.#entries.delete(key);
    this.#entries.set(key, { refusal, until: this.#options.now() + this.#options.forMs });
    if (this.#entries.size <= this.#options.maxEntries) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest!);
  }

  /** Returns the refusal of a key, if it is still remembered. */
  get(key: string): Refusal | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#options.now()) return entry.refusal;
    this.#entries.delete(key);
    return undefined;
  }
}
