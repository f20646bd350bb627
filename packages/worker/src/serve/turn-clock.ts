import type { StartTimer } from '@signalbox/client/internal';
import { longestTimerMs } from '@signalbox/serving';

export interface TurnClockOptions {
  /** The longest time of the turn, in milliseconds. */
  limitMs: number;
  /** The longest time for which it stands still in all, in milliseconds. */
  mostHeldMs: number;
  startTimer: StartTimer;
  /** Returns monotonic milliseconds. */
  now: () => number;
  /** Called once, when the time is over. */
  onLate: () => void;
}

/** The time limit of a turn. It stands still while a person is asked. */
export class TurnClock implements Disposable {
  readonly #options: TurnClockOptions;
  #leftMs: number;
  #heldLeftMs: number;
  #holds = 0;
  #since: number;
  #cancelTimer = (): void => {};

  constructor(options: TurnClockOptions) {
    this.#options = options;
    this.#leftMs = options.limitMs;
    this.#heldLeftMs = options.mostHeldMs;
    this.#since = options.now();
    this.#run();
  }

  /** Stops the clock until the returned function is called. */
  hold(): () => void {
    this.#count();
    this.#holds++;
    this.#run();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#count();
      this.#holds--;
      this.#run();
    };
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
  }

  get #isStill(): boolean {
    return this.#holds > 0 && this.#heldLeftMs > 0;
  }

  #count(): void {
    const now = this.#options.now();
    const passed = now - this.#since;
    this.#since = now;
    if (this.#isStill) this.#heldLeftMs -= passed;
    else this.#leftMs -= passed;
  }

  #run(): void {
    this.#cancelTimer();
    const isStill = this.#isStill;
    const waitMs = Math.min(Math.max(1, isStill ? this.#heldLeftMs : this.#leftMs), longestTimerMs);
    this.#cancelTimer = this.#options.startTimer(() => {
      this.#count();
      if (!isStill && this.#leftMs <= 0) this.#options.onLate();
      else this.#run();
    }, waitMs);
  }
}
