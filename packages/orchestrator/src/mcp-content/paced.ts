/** The shortest time between two runs, in milliseconds. */
const pauseMs = 200;

/** Runs `work` at once, and then at most five times a second: all requests during a pause lead to one run at its end. */
export class Paced {
  readonly #work: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;

  constructor(work: () => void) {
    this.#work = work;
  }

  /** Requests a run. */
  ask(): void {
    if (this.#timer) {
      this.#isDue = true;
      return;
    }
    this.#timer = setTimeout(() => this.#pauseOver(), pauseMs).unref();
    this.#work();
  }

  /** Stops all further runs. */
  end(): void {
    clearTimeout(this.#timer);
    this.#isDue = false;
  }

  #pauseOver(): void {
    this.#timer = undefined;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.ask();
  }
}
