/**
 * Runs a limited number of pieces of work at a time; the others wait in the order in which they came. The threads that check signatures
 * also sync files to the disk, so a flood of tokens must not take all of them.
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
