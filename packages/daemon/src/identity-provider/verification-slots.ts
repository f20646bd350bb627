/**
 * Runs so many pieces of work at a time, the others in the order in which they came. Signatures are checked by the threads that also
 * sync files to the disk, so that a flood of tokens must not take all of them.
 */
export class VerificationSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs the work when it is its turn, and settles as it does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
