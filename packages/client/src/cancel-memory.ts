import { RecentMap } from './recent-map.ts';

const memoryMs = 60_000;

/** Cancels that came before their requests, for a minute each: after that an id may come again. */
export class CancelMemory {
  readonly #until: RecentMap<string, number>;

  constructor(size: number) {
    this.#until = new RecentMap(size);
  }

  add(key: string, now: number): void {
    this.#until.set(key, now + memoryMs);
  }

  /** True, once, if `key` was cancelled within the last minute. */
  take(key: string, now: number): boolean {
    const until = this.#until.get(key);
    if (until === undefined) return false;
    this.#until.delete(key);
    return until > now;
  }
}
