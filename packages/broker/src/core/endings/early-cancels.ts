/** Remembers cancels that came before the request that they cancel. Beyond the limit, the oldest is forgotten. */
export class EarlyCancels {
  readonly #expiries = new Map<string, number>();
  readonly #lifeMs: number;
  readonly #limit: number;

  /** A cancel is remembered for `lifeMs` milliseconds; there are at most `limit` of them. */
  constructor(options: { lifeMs: number; limit: number }) {
    this.#lifeMs = options.lifeMs;
    this.#limit = options.limit;
  }

  /** True if no cancel is remembered. */
  get isEmpty(): boolean {
    return this.#expiries.size === 0;
  }

  /** Remembers a cancel under a key. `now` is in monotonic milliseconds, here and in {@link take}. */
  add(key: string, now: number): void {
    this.#expiries.delete(key);
    this.#expiries.set(key, now + this.#lifeMs);
    if (this.#expiries.size <= this.#limit) return;
    const oldest = this.#expiries.keys().next();
    if (!oldest.done) this.#expiries.delete(oldest.value);
  }

  /** Forgets the cancel under a key. Returns true if there was one that had not expired. */
  take(key: string, now: number): boolean {
    const expiry = this.#expiries.get(key);
    if (expiry === undefined) return false;
    this.#expiries.delete(key);
    return expiry > now;
  }
}
