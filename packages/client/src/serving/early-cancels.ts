import { RecentMap } from '../requests/recent-map.ts';

const rememberedMs = 60_000;

/** Remembers cancels that came before their requests, for a minute each: after that an id may be used again. */
export class EarlyCancels {
  readonly #until: RecentMap<string, number>;
  readonly #now: () => number;

  constructor(size: number, now: () => number) {
    this.#until = new RecentMap(size);
    this.#now = now;
  }

  /** Remembers a cancel. */
  add(key: string): void {
    this.#until.set(key, this.#now() + rememberedMs);
  }

  /** Returns true, once, if `key` was cancelled within the last minute. */
  take(key: string): boolean {
    const until = this.#until.get(key);
    if (until === undefined) return false;
    this.#until.delete(key);
    return until > this.#now();
  }
}
