/** Texts of more characters are large: handling one takes a time that callers of others notice. */
export const largeLength = 128 * 1024;

/** The longest turn. An end that never comes holds nobody up for longer. */
const mostMs = 1_000;
/** The longest pause after a turn. */
const mostPauseMs = 250;

/**
 * Lets large texts be handled one after the other, with a pause after each that is as long as its turn was. So they take half of the time
 * at most, and what is small goes ahead of those that wait. The first of them does not wait.
 */
export class LargeTurns {
  readonly #now: () => number;
  #last: Promise<void> | undefined;

  /** `now` is in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves when it is the text's turn, with the function to call at its end. */
  async next(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = promise;
    await before;
    const startedAt = this.#now();
    const over = (): void => {
      if (this.#last === promise) this.#last = undefined;
      resolve();
    };
    let timer = setTimeout(over, mostMs);
    return () => {
      clearTimeout(timer);
      timer = setTimeout(over, Math.min(mostPauseMs, this.#now() - startedAt));
    };
  }
}
