import type { Log } from '../log.ts';

const intervalMs = 60_000;

/** Counts an event that strangers can cause at will, and logs it at most once a minute, with the number of times. */
export class FrequentEvent {
  readonly #log: () => void;
  readonly #monotonic: () => number;
  #count = 0;
  #nextAt = Number.NEGATIVE_INFINITY;

  /** `monotonic` returns milliseconds. `message` is a sentence about what happened and what to do. */
  constructor(event: string, message: string, { log, monotonic }: { log: Log; monotonic: () => number }) {
    this.#log = () => log({ level: 'warn', event, message, times: this.#count });
    this.#monotonic = monotonic;
  }

  /** Counts the event once more. */
  happened(): void {
    this.#count++;
  }

  /** Logs the count, if it is not 0 and the last report is old enough. Call it now and then. */
  report(): void {
    const now = this.#monotonic();
    if (this.#count === 0 || now < this.#nextAt) return;
    this.#nextAt = now + intervalMs;
    this.#log();
    this.#count = 0;
  }
}
