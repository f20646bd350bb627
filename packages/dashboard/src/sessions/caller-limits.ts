import { SignalboxError } from '@signalbox/protocol';
import { Budget } from '@signalbox/protocol/internal';

/** What one session may have at once: requests, those of them that are worked on, and streams. */
const most = { atOnce: 16, running: 4, streams: 8 };
/** The requests that it may make in a row, and in each second after that. */
const requestRate = { burst: 80, perSecond: 20 };
/** The processor time that it may use in a row, and in a second after that, in milliseconds. */
const workRate = { burst: 2000, perSecond: 200 };
/** A request beyond what a session may have at once is refused after so many milliseconds, so that asking again at once is no use. */
const refusalMs = 500;

/** What {@link CallerLimits} need of time. */
export interface LimitsClock {
  /** Returns monotonic milliseconds. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Has `spend` called with the milliseconds of processor time that something uses, until the result is disposed. */
  meter(spend: (ms: number) => void): Disposable;
}

/** Limits what one session asks for: what is too much now waits for its turn. */
export class CallerLimits {
  readonly #clock: LimitsClock;
  readonly #requests: Budget;
  readonly #work: Budget;
  #asked = 0;
  #running = 0;
  #streams = 0;
  /** Resolves when all that were asked before have begun. */
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
      throw new SignalboxError('rate_limited', `a session may ask for ${most.atOnce} things at once`);
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
      throw new SignalboxError('rate_limited', `a session may have ${most.streams} open pages; close some`);
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
