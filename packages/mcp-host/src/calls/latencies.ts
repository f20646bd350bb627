/** Keeps the durations of the last calls; 512 of them by default. */
export class Latencies {
  readonly #ring: Float64Array;
  #count = 0;

  constructor(size = 512) {
    this.#ring = new Float64Array(size);
  }

  /** The number of calls since the start. */
  get count(): number {
    return this.#count;
  }

  /** Records the duration of a call. */
  add(ms: number): void {
    this.#ring[this.#count++ % this.#ring.length] = ms;
  }

  /**
   * Returns for each share (0–1) the shortest duration that this share of the calls doesn't exceed; `undefined` without
   * calls.
   */
  quantiles(...shares: number[]): (number | undefined)[] {
    const kept = this.#ring.slice(0, Math.min(this.#count, this.#ring.length)).sort();
    return shares.map((share) => kept[Math.max(0, Math.ceil(share * kept.length) - 1)]);
  }
}
