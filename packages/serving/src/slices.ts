/** The default number of units of work that one agent's connections do in a turn of the event loop. */
export const unitsPerSlice = 250;

/** A connection that is not read while a slice is over. It may take part in slices of two kinds, which stop it independently. */
export interface SliceReader {
  stopReading(slices: Slices): void;
  readOn(slices: Slices): void;
}

/**
 * Divides turns of the event loop among the agents that share a process (deficit round robin). Each agent has one object of this class for
 * all its connections. In a slice the connections use a number of units of work. Then they wait, and nothing is read from them, until the
 * others had their slice. A piece of work that takes more than a slice is paid in the following slices. With a `parent`, work in these slices
 * also counts in those of the parent, which several agents share.
 */
export class Slices {
  readonly #units: number;
  readonly #parent: Slices | undefined;
  #left: number;
  /** The connections, from the one that was read the longest ago to the one that was read last. */
  readonly #readers = new Set<SliceReader>();
  #waiting: (() => void)[] = [];
  #isRefillDue = false;

  constructor(units = unitsPerSlice, parent?: Slices) {
    this.#units = units;
    this.#left = units;
    this.#parent = parent;
  }

  /** True if work has to wait for the next slice. */
  get isOver(): boolean {
    return this.#left <= 0 || this.#parent?.isOver === true;
  }

  /** Adds a connection. */
  add(reader: SliceReader): void {
    this.#parent?.add(reader);
    this.#readers.add(reader);
    if (this.#left <= 0) reader.stopReading(this);
  }

  /** Removes a connection that has ended. */
  remove(reader: SliceReader): void {
    this.#parent?.remove(reader);
    this.#readers.delete(reader);
  }

  /** Counts what was read from a connection, and moves the connection behind the others. */
  wasRead(reader: SliceReader, units: number): void {
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

  /** Calls `work` now, or in a later slice if this one is over. */
  take(work: () => void): void {
    if (this.#left <= 0) this.#waiting.push(work);
    else if (this.#parent?.isOver) this.#parent.take(() => this.take(work));
    else work();
  }

  #moveBack(reader: SliceReader): void {
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
    // Work that had no slice comes before work that has to wait again.
    this.#waiting = [...waiting.slice(done), ...this.#waiting];
    if (this.#left <= 0) return;
    for (const reader of this.#readers) reader.readOn(this);
  };
}
