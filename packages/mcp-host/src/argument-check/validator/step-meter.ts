/** Thrown by a {@link StepMeter} that has run out. */
export class OutOfSteps extends Error {
  override name = 'OutOfSteps';
}

/** Bounds work by counting its steps. A small schema and a small value can together make a check exponential. */
export class StepMeter {
  #left = 0;

  /** Allows this many steps from now on. */
  refill(steps: number): void {
    this.#left = steps;
  }

  /** Counts steps. Throws `OutOfSteps` when there are more than `refill` has allowed. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfSteps('out of steps');
  }
}
