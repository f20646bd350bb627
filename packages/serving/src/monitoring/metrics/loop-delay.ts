import { Histogram } from './histogram.ts';
import type { MetricFamily, MetricInfo } from './metric-family.ts';

const sampleMs = 100;
const bucketsSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/** Measures ten times a second how late a timer fires because other work keeps the process busy. */
export class LoopDelay implements Disposable {
  readonly #delays: Histogram;
  readonly #timer: NodeJS.Timeout;

  /** `monotonic` returns milliseconds. */
  constructor(info: MetricInfo, monotonic: () => number) {
    this.#delays = new Histogram(info, bucketsSeconds);
    let dueAt = monotonic() + sampleMs;
    this.#timer = setInterval(() => {
      const now = monotonic();
      this.#delays.observe(Math.max(0, now - dueAt) / 1000);
      dueAt = now + sampleMs;
    }, sampleMs).unref();
  }

  /** Returns the delays so far, in seconds. */
  collect(): MetricFamily {
    return this.#delays.collect();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
