/** The most that each owner may hold of one unit, and the most that all owners together may hold. */
export interface RoomLimit {
  each: number;
  all: number;
}

/** The reason why something does not fit. `each`: the owner's own limit is reached. `all`: the rest is kept for other owners. */
export interface Shortage<Unit extends string> {
  unit: Unit;
  of: keyof RoomLimit;
  limit: number;
  /** True if it would not fit into an empty room either, so that trying again is useless. */
  isFinal: boolean;
}

type Amounts<Unit extends string> = Readonly<Partial<Record<Unit, number>>>;

/**
 * Counts the amounts that owners hold of several units, such as bytes and calls. Besides its own limit, an owner may hold at most as much
 * as is left for all others, so that a greedy owner leaves room for modest ones.
 */
export class SharedRoom<Unit extends string> {
  readonly #limits: Readonly<Record<Unit, RoomLimit>>;
  readonly #units: readonly Unit[];
  readonly #byOwner = new Map<string, Record<Unit, number>>();
  readonly #held: Record<Unit, number>;

  constructor(limits: Readonly<Record<Unit, RoomLimit>>) {
    this.#limits = limits;
    this.#units = Object.keys(limits) as Unit[];
    this.#held = this.#nothing();
  }

  /** Takes room for the amounts. If one of them does not fit, returns which one, and takes nothing. */
  take(owner: string, amounts: Amounts<Unit>): Shortage<Unit> | undefined {
    const own = this.#byOwner.get(owner) ?? this.#nothing();
    for (const unit of this.#units) {
      const shortage = this.#shortage(unit, own[unit], amounts[unit] ?? 0);
      if (shortage) return shortage;
    }
    this.#byOwner.set(owner, own);
    this.#add(own, amounts, 1);
    return undefined;
  }

  /** Counts amounts that an owner holds already, without a limit. No further amounts fit while the owner is over its limit. */
  hold(owner: string, amounts: Amounts<Unit>): void {
    const own = this.#byOwner.get(owner) ?? this.#nothing();
    this.#byOwner.set(owner, own);
    this.#add(own, amounts, 1);
  }

  /** Gives back room that was taken. */
  giveBack(owner: string, amounts: Amounts<Unit>): void {
    const own = this.#byOwner.get(owner);
    if (!own) return;
    this.#add(own, amounts, -1);
    if (this.#units.every((unit) => own[unit] === 0)) this.#byOwner.delete(owner);
  }

  /** Returns the amount of a unit that all owners hold. */
  held(unit: Unit): number {
    return this.#held[unit];
  }

  #shortage(unit: Unit, own: number, amount: number): Shortage<Unit> | undefined {
    if (amount === 0) return undefined;
    const { each, all } = this.#limits[unit];
    const isFinal = amount > Math.min(each, all);
    if (own + amount > each) return { unit, of: 'each', limit: each, isFinal };
    const held = this.#held[unit];
    const left = held === 0 ? all : all - held;
    return own + amount > left ? { unit, of: 'all', limit: all, isFinal } : undefined;
  }

  #add(own: Record<Unit, number>, amounts: Amounts<Unit>, sign: 1 | -1): void {
    for (const unit of this.#units) {
      const amount = sign * (amounts[unit] ?? 0);
      own[unit] += amount;
      this.#held[unit] += amount;
    }
  }

  #nothing(): Record<Unit, number> {
    return Object.fromEntries(this.#units.map((unit) => [unit, 0])) as Record<Unit, number>;
  }
}
