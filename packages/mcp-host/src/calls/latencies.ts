/** The durations of the last calls, 512 unless set, in a ring. */
export class Latencies {
  readonly #ring: Float64Array;
  #count = 0;

  constructor(size = 512) {
    this.#ring = new Float64Array(size);
  }

  /** Of all time. */
  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    this.#ring[this.#count++ % this.#ring.length] = ms;
  }

  /** The least of those kept that a share `q` of them (0–1) doesn't exceed, for each `q`; `undefined` without any. */
  quantiles(...shares: number[]): (number | undefined)[] {
    const kept = this.#ring.slice(0, Math.min(this.#count, this.#ring.length)).sort();
    return shares.map((share) => kept[Math.max(0, Math.ceil(share * kept.length) - 1)]);
  }
}
