/** Thrown where a {@link StepMeter} has run out. */
export class OutOfSteps extends Error {
  override name = 'OutOfSteps';
}

/** Bounds work by counting it: schemas and values together can make a check exponential, however small they are. */
export class StepMeter {
  #left = 0;

  refill(steps: number): void {
    this.#left = steps;
  }

  /** Throws `OutOfSteps`. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new OutOfSteps('out of steps');
  }
}
