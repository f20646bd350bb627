import { SignalboxError } from '@signalbox/protocol';

/** The requests of one session: how many at once, how many in a row, and how many in a second after that. */
const most = { atOnce: 16, burst: 80, perSecond: 20, streams: 8 };

/** Limits what one session asks for. */
export class CallerLimits {
  readonly #monotonic: () => number;
  #left = most.burst;
  #at: number;
  #running = 0;
  #streams = 0;

  /** `monotonic` returns milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#at = monotonic();
  }

  /** Takes a place for a request until the result is disposed. Throws `rate_limited`. */
  request(): Disposable {
    const now = this.#monotonic();
    this.#left = Math.min(most.burst, this.#left + ((now - this.#at) / 1000) * most.perSecond);
    this.#at = now;
    if (this.#left < 1)
      throw new SignalboxError('rate_limited', `a session may ask ${most.perSecond} times a second`);
    if (this.#running >= most.atOnce)
      throw new SignalboxError('rate_limited', `a session may ask for ${most.atOnce} things at once`);
    this.#left--;
    this.#running++;
    return {
      [Symbol.dispose]: () => {
        this.#running--;
      },
    };
  }

  /** Takes a place for a stream until the result is disposed. Throws `rate_limited`. */
  stream(): Disposable {
    if (this.#streams >= most.streams)
      throw new SignalboxError('rate_limited', `a session may have ${most.streams} open pages; close some`);
    this.#streams++;
    return {
      [Symbol.dispose]: () => {
        this.#streams--;
      },
    };
  }
}
