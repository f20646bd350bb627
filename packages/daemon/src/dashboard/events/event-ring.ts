/** The newest events, each with a number. */
export class EventRing<Event> {
  readonly #events: Event[] = [];
  readonly #capacity: number;
  #last = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The number of the newest event; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Adds an event. If the ring is full, the oldest one is dropped. */
  push(event: Event): void {
    this.#last++;
    this.#events.push(event);
    if (this.#events.length > this.#capacity) this.#events.shift();
  }

  /** Returns the newest events after a number, at most `limit`, and how many others there were in between. */
  since(number: number, limit: number): { events: Event[]; missed: number } {
    const wanted = this.#last - number;
    const given = Math.min(wanted, limit, this.#events.length);
    return { events: given === 0 ? [] : this.#events.slice(-given), missed: wanted - given };
  }
}
