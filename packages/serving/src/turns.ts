/** The default number of units of work that one agent's connections do in a turn of the event loop. */
export const unitsPerTurn = 250;

/** A connection that is not read while a turn is over. It may take part in turns of two kinds, which stop it independently. */
export interface TurnReader {
  stopReading(turns: Turns): void;
  readOn(turns: Turns): void;
}

/**
 * Divides turns of the event loop among the agents that share a process (deficit round robin). Each agent has one object of this class for
 * all its connections. In a turn the connections use a number of units of work. Then they wait, and nothing is read from them, until the
 * others had their turn. A piece of work that takes more than a turn is paid in the following turns. With a `parent`, work in these turns
 * also counts in those of the parent, which several agents share.
 */
export class Turns {
  readonly #units: number;
  readonly #parent: Turns | undefined;
  #left: number;
  /** The connections, from the one that was read the longest ago to the one that was read last. */
  readonly #readers = new Set<TurnReader>();
  #waiting: (() => void)[] = [];
  #isRefillDue = false;

  constructor(units = unitsPerTurn, parent?: Turns) {
    this.#units = units;
    this.#left = units;
    this.#parent = parent;
  }

  /** True if work has to wait for the next turn. */
  get isOver(): boolean {
    return this.#left <= 0 || this.#parent?.isOver === true;
  }

  /** Adds a connection. */
  add(reader: TurnReader): void {
    this.#parent?.add(reader);
    this.#readers.add(reader);
    if (this.#left <= 0) reader.stopReading(this);
  }

  /** Removes a connection that has ended. */
  remove(reader: TurnReader): void {
    this.#parent?.remove(reader);
    this.#readers.delete(reader);
  }

  /** Counts what was read from a connection, and moves the connection behind the others. */
  wasRead(reader: TurnReader, units: number): void {
    this.#moveBack(reader);
    this.spend(units);
  }

  /** Counts work that was done or that is certain to be done. */
  spend(units: number): void {
    this.#parent?.spend(units);
    const wasOver = this.#left <= 0;
    this.#left -= units;
    if (wasOver) return;
    if (this.#left > 0) {
      if (!this.#isRefillDue) setImmediate(this.#refill);
      this.#isRefillDue = true;
      return;
    }
    for (const reader of this.#readers) reader.stopReading(this);
    setImmediate(this.#begin);
  }

  /** Calls `work` now, or in a later turn if this one is over. */
  take(work: () => void): void {
    if (this.#left <= 0) this.#waiting.push(work);
    else if (this.#parent?.isOver) this.#parent.take(() => this.take(work));
    else work();
  }

  #moveBack(reader: TurnReader): void {
    if (this.#parent) this.#parent.#moveBack(reader);
    if (this.#readers.delete(reader)) this.#readers.add(reader);
  }

  /**
   * Unused units belong to a turn of the event loop that has ended. Without the refill, an agent that is busy alone would wait although
   * nobody else works.
   */
  readonly #refill = (): void => {
    this.#isRefillDue = false;
    if (this.#left > 0) this.#left = this.#units;
  };

  readonly #begin = (): void => {
    this.#left = Math.min(this.#units, this.#left + this.#units);
    if (this.#left <= 0) {
      setImmediate(this.#begin);
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    let done = 0;
    while (done < waiting.length && this.#left > 0) this.take(waiting[done++]!);
    // Work that had no turn comes before work that has to wait again.
    this.#waiting = [...waiting.slice(done), ...this.#waiting];
    if (this.#left <= 0) return;
    for (const reader of this.#readers) reader.readOn(this);
  };
}
