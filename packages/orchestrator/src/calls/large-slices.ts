/** The length in characters beyond which a text is large: handling it takes a time that callers of other agents notice. */
export const largeLength = 128 * 1024;

/** The longest slice, in milliseconds. A slice whose end never comes holds nobody up for longer. */
const mostMs = 1_000;
/** The longest pause after a slice, in milliseconds. */
const mostPauseMs = 250;

/**
 * Handles large texts one after the other, each followed by a pause that is as long as its slice. So they take at most half of the time, and
 * small texts go ahead of the waiting ones. The first large text does not wait.
 */
export class LargeSlices {
  readonly #now: () => number;
  #last: Promise<void> | undefined;

  /** `now` is in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves when it is the text's turn, with a function to call at the end of the slice. */
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
