/**
 * The clock of a database as a broker knows it, in epoch milliseconds: the last time that the database reported, and the monotonic time
 * since then. So all brokers on a database agree on what has expired, even if the clock of a machine is wrong.
 */
export class DatabaseClock {
  readonly #monotonic: () => number;
  /** The difference to the monotonic time. */
  #offset: number;

  /** Begins with a time that the database reported between a monotonic time and the present. */
  constructor(monotonic: () => number, said: number, askedAt: number) {
    this.#monotonic = monotonic;
    this.#offset = said - (askedAt + monotonic()) / 2;
  }

  now(): number {
    return Math.round(this.#monotonic() + this.#offset);
  }

  /**
   * Applies a time that the database reported between a monotonic time and the present. Nothing changes if it agrees with the known time.
   */
  heard(said: number, askedAt: number): void {
    const answeredAt = this.#monotonic();
    this.#offset = Math.min(Math.max(this.#offset, said - answeredAt), said - askedAt);
  }
}
