import type { ExpiryTime } from '@signalbox/store';

/** The wall clock has leapt if it gains more than this on the monotonic clock between two looks at both. */
export const leapMs = 60_000;
/** The time for which nothing expires because of a leap. */
export const holdMs = 5 * 60_000;

/** A leap of the wall clock that is not believed yet. */
export interface Hold {
  /** The time before the leap, in epoch milliseconds. */
  from: number;
  /** The time after the leap, in epoch milliseconds. */
  to: number;
  /** The end of the hold in monotonic milliseconds. */
  until: number;
}

/** Why a hold ended: its time was over, somebody accepted the clock, or the clock was set back to before the leap. */
export type HoldEnd = 'waited' | 'accepted' | 'set_back';

/** The dependencies of an {@link ExpiryClock}. */
export interface ExpiryClockDeps {
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** The time that the last broker on this store had reached; `undefined` for a new store. */
  reached: ExpiryTime | undefined;
  /** Called when a leap is seen, with how long it is. */
  onLeap: (hold: Hold) => void;
  /** Called when a hold has ended. */
  onHoldEnd: (end: HoldEnd) => void;
}

/**
 * The time by which messages and tokens expire. It is the wall clock's, except after a step:
 *
 * - The wall clock leaps forward, or the machine was suspended, or no broker ran for a while. Nobody can tell these apart. For
 *   {@link holdMs} the time goes on as if there had been no leap. Then the wall clock is believed.
 * - The wall clock goes back. What was stamped before expires when its lifetime has passed, or when the clock has caught up.
 */
export class ExpiryClock implements ExpiryTime {
  earliest: number;
  latest: number;
  readonly now: () => number;
  readonly #monotonic: () => number;
  readonly #onLeap: ExpiryClockDeps['onLeap'];
  readonly #onHoldEnd: ExpiryClockDeps['onHoldEnd'];
  #wall: number;
  /** The monotonic time of the last look. */
  #lookedAt: number;
  /** The highest time that a stamp may have. */
  #highest: number;
  #hold: Hold | undefined;

  constructor({ now, monotonic, reached, onLeap, onHoldEnd }: ExpiryClockDeps) {
    this.now = now;
    this.#monotonic = monotonic;
    this.#onLeap = onLeap;
    this.#onHoldEnd = onHoldEnd;
    this.#wall = now();
    this.#lookedAt = monotonic();
    this.earliest = this.#wall;
    this.#highest = Math.max(this.#wall, reached?.latest ?? 0);
    this.latest = this.#highest;
    if (reached !== undefined && this.#wall - reached.earliest > leapMs) {
      this.earliest = reached.earliest;
      this.#beginHold();
    }
  }

  /** The leap that is not believed yet. */
  get hold(): Readonly<Hold> | undefined {
    return this.#hold;
  }

  /** The milliseconds until the hold ends; 0 if there is none. */
  get holdLeftMs(): number {
    return this.#hold ? Math.max(0, this.#hold.until - this.#monotonic()) : 0;
  }

  /** Looks at both clocks. Call it before the fields are used. It is cheap enough to be called for each message. */
  look(): this {
    const wall = this.now();
    const monotonic = this.#monotonic();
    const passed = monotonic - this.#lookedAt;
    const hasLeapt = wall - this.#wall - passed > leapMs;
    this.#wall = wall;
    this.#lookedAt = monotonic;
    if (wall > this.#highest) this.#highest = wall;
    if (hasLeapt || this.#hold) {
      this.earliest += passed;
      if (hasLeapt) this.#beginHold();
      this.#endHoldIfDue();
    } else this.earliest = wall;
    // Once the wall clock has caught up, no stamp is ahead of it.
    this.latest = this.earliest >= this.#highest ? wall : Math.max(wall, this.latest + passed);
    return this;
  }

  /** Believes the wall clock from now on. Returns the hold that this ends. */
  accept(): Hold | undefined {
    const hold = this.look().#hold;
    if (hold) this.#endHold('accepted');
    return hold;
  }

  /** Tells whether a deadline lies in a leap that is not believed yet: the wall clock says that it is over. */
  isInLeap(expiresAt: number): boolean {
    return this.#hold !== undefined && expiresAt <= this.#wall;
  }

  #beginHold(): void {
    const from = Math.floor(this.earliest);
    this.#hold = { from, to: this.#wall, until: this.#lookedAt + holdMs };
    this.#onLeap(this.#hold);
  }

  #endHoldIfDue(): void {
    if (!this.#hold) return;
    if (this.#wall <= this.earliest) this.#endHold('set_back');
    else if (this.#lookedAt >= this.#hold.until) this.#endHold('waited');
  }

  #endHold(end: HoldEnd): void {
    this.#hold = undefined;
    this.earliest = this.#wall;
    this.#onHoldEnd(end);
  }
}
