import { SignalboxError } from '@signalbox/protocol';
import { Budget } from '@signalbox/serving';

/** The most requests, running requests and streams that one sign-in may have at a time. */
const most = { atOnce: 16, running: 4, streams: 8 };
/** The requests that a sign-in may make in a row, and per second after that. */
const requestRate = { burst: 80, perSecond: 20 };
/** The processor time that a sign-in may use in a row, and per second after that, in milliseconds. */
const workRate = { burst: 2000, perSecond: 200 };
/** A request over the limit is refused after this many milliseconds, so that asking again at once brings no gain. */
const refusalMs = 500;

/** The clocks of {@link CallerLimits}. */
export interface LimitsClock {
  /** Returns monotonic milliseconds. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `spend` with the milliseconds of processor time that a task uses, until the result is disposed. */
  meter(spend: (ms: number) => void): Disposable;
}

/** Limits the requests of one sign-in: those over the limit wait for their turn. */
export class CallerLimits {
  readonly #clock: LimitsClock;
  readonly #requests: Budget;
  readonly #work: Budget;
  #asked = 0;
  #running = 0;
  #streams = 0;
  /** Resolves when all earlier requests have begun. */
  #queue: Promise<void> = Promise.resolve();
  #onRoom = (): void => {};

  constructor(clock: LimitsClock) {
    this.#clock = clock;
    this.#requests = new Budget(requestRate.perSecond, requestRate.burst, clock.now());
    this.#work = new Budget(workRate.perSecond, workRate.burst, clock.now());
  }

  /** Waits for a place for a request, and takes it until the result is disposed. Rejects with `rate_limited`. */
  async request(): Promise<Disposable> {
    if (this.#asked >= most.atOnce) {
      await this.#clock.sleep(refusalMs);
      throw new SignalboxError(
        'rate_limited',
        `a browser may ask for ${most.atOnce} things at once; wait for an answer first`,
      );
    }
    this.#asked++;
    this.#queue = this.#queue.then(() => this.#turn());
    await this.#queue;
    const metered = this.#clock.meter((ms) => this.#work.spend(ms));
    return {
      [Symbol.dispose]: () => {
        metered[Symbol.dispose]();
        this.#asked--;
        this.#running--;
        this.#onRoom();
      },
    };
  }

  /** Takes a place for a stream until the result is disposed. Throws `rate_limited`. */
  stream(): Disposable {
    if (this.#streams >= most.streams)
      throw new SignalboxError('rate_limited', `a browser may have ${most.streams} open pages; close some`);
    this.#streams++;
    return {
      [Symbol.dispose]: () => {
        this.#streams--;
      },
    };
  }

  async #turn(): Promise<void> {
    if (this.#running >= most.running)
      await new Promise<void>((resolve) => {
        this.#onRoom = resolve;
      });
    const now = this.#clock.now();
    const waitMs = Math.max(this.#requests.waitMs(now), this.#work.waitMs(now));
    if (waitMs > 0) await this.#clock.sleep(waitMs);
    this.#requests.spend(1);
    this.#running++;
  }
}
