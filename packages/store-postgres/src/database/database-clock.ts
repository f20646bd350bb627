/**
 * The clock of a database as a broker knows it, in epoch milliseconds: what the database said last, and the monotonic time since then. All
 * brokers on a database agree so about what has expired, also if the clock of a machine is wrong.
 */
export class DatabaseClock {
  readonly #monotonic: () => number;
  /** The difference to the monotonic time. */
  #offset: number;

  /** Begins with what the database said at some moment between a monotonic time and the present. */
  constructor(monotonic: () => number, said: number, askedAt: number) {
    this.#monotonic = monotonic;
    this.#offset = said - (askedAt + monotonic()) / 2;
  }

  now(): number {
    return Math.round(this.#monotonic() + this.#offset);
  }

  /** Takes what the database said at some moment between a monotonic time and the present. Nothing changes if that may be what is known. */
  heard(said: number, askedAt: number): void {
    const answeredAt = this.#monotonic();
    this.#offset = Math.min(Math.max(this.#offset, said - answeredAt), said - askedAt);
  }
}
