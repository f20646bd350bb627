/** Counts turns of the event loop, so that a connection can tell whether others had theirs since it was last at work. */
export class Turns {
  #current = 0;
  #isCounting = false;

  /** The number of the running turn. */
  get current(): number {
    if (!this.#isCounting) {
      this.#isCounting = true;
      setImmediate(() => {
        this.#isCounting = false;
        this.#current++;
      });
    }
    return this.#current;
  }
}
