/** Remembers cancels that came before the request that they cancel. Bounded: the oldest is forgotten first. */
export class EarlyCancels {
  readonly #expiries = new Map<string, number>();
  readonly #lifeMs: number;
  readonly #limit: number;

  constructor(options: { lifeMs: number; limit: number }) {
    this.#lifeMs = options.lifeMs;
    this.#limit = options.limit;
  }

  get isEmpty(): boolean {
    return this.#expiries.size === 0;
  }

  add(key: string, now: number): void {
    this.#expiries.delete(key);
    this.#expiries.set(key, now + this.#lifeMs);
    if (this.#expiries.size <= this.#limit) return;
    const oldest = this.#expiries.keys().next();
    if (!oldest.done) this.#expiries.delete(oldest.value);
  }

  /** True, once, if a cancel waits under this key. */
  take(key: string, now: number): boolean {
    const expiry = this.#expiries.get(key);
    if (expiry === undefined) return false;
    this.#expiries.delete(key);
    return expiry > now;
  }
}
