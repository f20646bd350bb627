/** The place of a value in a {@link PassingList}. */
export interface ListPlace<T> {
  readonly value: T;
}

class Place<T> implements ListPlace<T> {
  readonly value: T;
  list: PassingList<T> | undefined;
  before: Place<T> | undefined;
  after: Place<T> | undefined;

  constructor(value: T, list: PassingList<T>, before: Place<T> | undefined) {
    this.value = value;
    this.list = list;
    this.before = before;
  }
}

/**
 * A list for values that stay only briefly, thousands in a second, in the order in which they were added. A `Set` would keep deleted values
 * until the next full garbage collection; ADR 10 gives the reason.
 */
export class PassingList<T> implements Iterable<T> {
  #first: Place<T> | undefined;
  #last: Place<T> | undefined;

  /** Adds a value at the end. Returns its place, by which it is removed. */
  add(value: T): ListPlace<T> {
    const place = new Place(value, this, this.#last);
    if (this.#last) this.#last.after = place;
    else this.#first = place;
    this.#last = place;
    return place;
  }

  /** Removes the value at a place. Does nothing if it was removed before. */
  remove(given: ListPlace<T>): void {
    const place = given as Place<T>;
    if (place.list !== this) return;
    const { before, after } = place;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    place.list = undefined;
    place.before = undefined;
    place.after = undefined;
  }

  /** Iterates over a copy of the values, so that they may be removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let place = this.#first; place; place = place.after) values.push(place.value);
    return values.values();
  }
}
