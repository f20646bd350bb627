interface HandTimer {
  at: number;
  run: () => void;
}

/** A clock that is moved by hand and runs the timers started on it, in order of time. Chance is always 0. */
export class HandClock {
  readonly #timers = new Set<HandTimer>();
  #time = 0;
  started = 0;

  readonly now = (): number => this.#time;

  readonly random = (): number => 0;

  readonly startTimer = (run: () => void, delayMs: number): (() => void) => {
    const timer = { at: this.#time + delayMs, run };
    this.started++;
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get running(): number {
    return this.#timers.size;
  }

  advance(toMs: number): void {
    for (let due = this.#next(toMs); due !== undefined; due = this.#next(toMs)) {
      this.#timers.delete(due);
      this.#time = Math.max(this.#time, due.at);
      due.run();
    }
    this.#time = toMs;
  }

  #next(toMs: number): HandTimer | undefined {
    return [...this.#timers].filter(({ at }) => at <= toMs).sort((a, b) => a.at - b.at)[0];
  }
}
