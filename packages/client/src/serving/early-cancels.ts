import { RecentMap } from '../recent-map.ts';

const memoryMs = 60_000;

/** Cancels that came before their requests, for a minute each: after that an id may come again. */
export class EarlyCancels {
  readonly #until: RecentMap<string, number>;
  readonly #now: () => number;

  constructor(size: number, now: () => number) {
    this.#until = new RecentMap(size);
    this.#now = now;
  }

  add(key: string): void {
    this.#until.set(key, this.#now() + memoryMs);
  }

  /** True, once, if `key` was cancelled within the last minute. */
  take(key: string): boolean {
    const until = this.#until.get(key);
    if (until === undefined) return false;
    this.#until.delete(key);
    return until > this.#now();
  }
}
