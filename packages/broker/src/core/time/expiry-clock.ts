import type { ExpiryTime } from '@signalbox/store';

/** The wall clock has leapt if it gains more than this on the monotonic clock between two looks at both. */
const leapMs = 60_000;
/** The wall clock was set back if it loses more than this, in milliseconds. */
const evenMs = 1000;
/** The time for which nothing expires because of a leap, in milliseconds. */
export const holdMs = 5 * 60_000;
/** The most steps that are remembered at a time. */
const maxOthers = 16;

/** A leap of the wall clock that is not trusted yet. */
export interface Hold {
  /** The time before the leap, in epoch milliseconds. */
  from: number;
  /** The time after the leap, in epoch milliseconds. */
  to: number;
  /** True if the leap was seen at the start: perhaps no broker ran between the two times. */
  atStart: boolean;
}

/** The reason why a hold ended: its time was over, somebody accepted the clock, or the clock was set back to before the leap. */
export type HoldEnd = 'waited' | 'accepted' | 'set_back';

/** The dependencies of an {@link ExpiryClock}. */
export interface ExpiryClockDeps {
  /** Returns epoch milliseconds. */
  now: () => number;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  /** The time that the last broker on this store had reached; `undefined` for a new store. */
  reached: ExpiryTime | undefined;
  /** Called when a leap is seen. */
  onLeap: (hold: Hold) => void;
  /** Called when a hold has ended. */
  onHoldEnd: (end: HoldEnd) => void;
}

/** The time that the wall clock would show without a step. `left` is the time that it showed right before the step. */
interface OtherTime {
  at: number;
  left: number;
}

/**
 * The clock by which messages and tokens expire. It shows the time of the wall clock, except after a step:
 * - The wall clock leaps forward, or the machine was suspended, or no broker ran for a while. These can't be distinguished. For {@link
 *   holdMs} the time continues as if there had been no leap. Then the wall clock is trusted.
 * - The wall clock goes back. Messages and tokens with earlier stamps expire when their lifetime has passed, or when the clock has caught
 *   up.
 */
export class ExpiryClock implements ExpiryTime {
  readonly times: number[];
  earliest: number;
  latest: number;
  /** The monotonic time of the last look. */
  lookedAt: number;
  /** Returns epoch milliseconds. */
  readonly now: () => number;
  readonly #deps: ExpiryClockDeps;
  #wall: number;
  /** The times besides the wall clock's. Times before it exist only during a hold. */
  #others: OtherTime[] = [];
  /** The monotonic time at which the wall clock is trusted. */
  #trustedAt = Number.NEGATIVE_INFINITY;
  #hold: Hold | undefined;

  constructor(deps: ExpiryClockDeps) {
    this.#deps = deps;
    this.now = deps.now;
    this.#wall = deps.now();
    this.lookedAt = deps.monotonic();
    this.earliest = this.#wall;
    this.latest = this.#wall;
    this.times = [this.#wall];
    if (!deps.reached) return;
    this.#others = deps.reached.times.map((time) => ({ at: time, left: time }));
    const hasLeapt = this.#wall - deps.reached.earliest > leapMs;
    if (hasLeapt) this.#trustedAt = this.lookedAt + holdMs;
    this.#settle(hasLeapt ? 'at start' : undefined, 'waited');
  }

  /** The leap that is not trusted yet. */
  get hold(): Readonly<Hold> | undefined {
    return this.#hold;
  }

  /** The milliseconds until the hold ends, or 0 if there is none. */
  get holdLeftMs(): number {
    return this.#hold ? Math.max(0, this.#trustedAt - this.#deps.monotonic()) : 0;
  }

  /** Reads both clocks. Call it before the fields are used. It is cheap enough for each message. */
  look(): this {
    const wall = this.now();
    const monotonic = this.#deps.monotonic();
    const passed = monotonic - this.lookedAt;
    const expected = this.#wall + passed;
    const step = wall - expected;
    this.#wall = wall;
    this.lookedAt = monotonic;
    const hasLeapt = step > leapMs;
    if (!hasLeapt && step >= -evenMs && this.#others.length === 0) {
      this.times[0] = wall;
      this.earliest = wall;
      this.latest = wall;
      return this;
    }
    for (const other of this.#others) other.at += passed;
    if (hasLeapt) this.#trustedAt = monotonic + holdMs;
    if (hasLeapt || step < -evenMs) this.#others.push({ at: expected, left: expected });
    this.#settle(hasLeapt ? 'while running' : undefined, 'waited');
    return this;
  }

  /** Trusts the wall clock from now on. Returns the hold that this ends. */
  accept(): Hold | undefined {
    const hold = this.look().#hold;
    if (!hold) return undefined;
    this.#trustedAt = this.lookedAt;
    this.#settle(undefined, 'accepted');
    return hold;
  }

  /** Tells whether a deadline lies in a leap that is not trusted yet: the wall clock says that it is over. */
  isInLeap(expiresAt: number): boolean {
    return this.#hold !== undefined && expiresAt <= this.#wall;
  }

  /**
   * Drops the times that no longer matter, sets the fields, and begins or ends the hold. `end` is the reason to trust the clock, if it is
   * trusted.
   */
  #settle(leapt: 'at start' | 'while running' | undefined, end: HoldEnd): void {
    const wall = this.#wall;
    const isTrusted = this.lookedAt >= this.#trustedAt;
    this.#others = this.#others
      .filter(({ at, left }) => (at > wall ? left > wall : !isTrusted && wall - at > leapMs))
      .sort((a, b) => a.at - b.at)
      .slice(0, maxOthers);
    this.times.splice(0, this.times.length, wall, ...this.#others.map(({ at }) => at));
    this.times.sort((a, b) => a - b);
    this.earliest = this.times[0]!;
    this.latest = this.times.at(-1)!;
    const isLeased = this.earliest < wall;
    if (isLeased && leapt) {
      const atStart = leapt === 'at start' || this.#hold?.atStart === true;
      this.#hold = { from: Math.floor(this.earliest), to: wall, atStart };
      this.#deps.onLeap(this.#hold);
    } else if (!isLeased && this.#hold) {
      this.#hold = undefined;
      this.#deps.onHoldEnd(isTrusted ? end : 'set_back');
    }
  }
}
