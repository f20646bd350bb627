/** Remembers the requests that are not pushed, because their deadlines lie in a leap of the clock that is not trusted yet. */
export class HeldBack {
  readonly #byInbox = new Map<string, Set<number>>();
  readonly #onRelease: (address: string, seq: number) => void;

  /** `onRelease` is called for each request when the hold is over. */
  constructor(onRelease: (address: string, seq: number) => void) {
    this.#onRelease = onRelease;
  }

  /** Adds a request that was passed over. */
  add(address: string, seq: number): void {
    const seqs = this.#byInbox.get(address) ?? new Set();
    this.#byInbox.set(address, seqs.add(seq));
  }

  /** Releases all requests. */
  release(): void {
    if (this.#byInbox.size === 0) return;
    const released = [...this.#byInbox];
    this.#byInbox.clear();
    for (const [address, seqs] of released) for (const seq of seqs) this.#onRelease(address, seq);
  }
}
