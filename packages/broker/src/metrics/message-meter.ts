import type { AdminResult } from '@signalbox/protocol';
import { Counter, Histogram, type MetricFamily } from '@signalbox/serving/monitoring';
import type { Meter } from '../core/meter.ts';
import { brokerMetrics } from './broker-metrics.ts';

/** The counts of a broker's work since it started. */
type BrokerActivity = AdminResult<'stats'>['activity'];

/** Upper bounds in seconds, from a commit in memory to a disk that stalls. */
const diskSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Upper bounds in seconds, from a timer on time to a clock that leapt. */
const lateSeconds = [0.01, 0.025, 0.05, 0.1, 0.3, 1, 3, 10, 60, 600];

/** The reasons for which messages become dead letters. Each has a series from the start, so that the first one is a change. */
const deathReasons = ['dead', 'expired', 'damaged'];

/** Counts messages by kind, and the time that commits and syncs take. */
export class MessageMeter implements Meter {
  readonly #stored = new Counter(brokerMetrics.stored);
  readonly #pushed = new Counter(brokerMetrics.pushed);
  readonly #redelivered = new Counter(brokerMetrics.redelivered);
  readonly #settled = new Counter(brokerMetrics.settled);
  readonly #died = new Counter(brokerMetrics.died);
  readonly #late = new Histogram(brokerMetrics.late, lateSeconds);
  readonly #commits = new Histogram(brokerMetrics.commits, diskSeconds);
  readonly #syncs = new Histogram(brokerMetrics.syncs, diskSeconds);

  constructor() {
    for (const reason of deathReasons) this.#died.add(reason, '', 0);
  }

  stored(kind: string): void {
    this.#stored.add(kind);
  }

  released(lateMs: number): void {
    this.#late.observe(Math.max(0, lateMs) / 1000);
  }

  pushed(kind: string, attempts: number): void {
    this.#pushed.add(kind);
    if (attempts > 0) this.#redelivered.add(kind);
  }

  settled(kind: string, outcome: string): void {
    this.#settled.add(kind, outcome);
  }

  died(reason: string): void {
    this.#died.add(reason);
  }

  committed(ms: number): void {
    this.#commits.observe(ms / 1000);
  }

  synced(ms: number): void {
    this.#syncs.observe(ms / 1000);
  }

  /** Returns the counts so far, all kinds together. */
  activity(): BrokerActivity {
    return {
      stored: this.#stored.total(),
      delivered: this.#pushed.total(),
      redelivered: this.#redelivered.total(),
      settled: this.#settled.total(),
      commits: latencyOf(this.#commits),
      syncs: latencyOf(this.#syncs),
    };
  }

  /** Returns the figures so far. */
  collect(): MetricFamily[] {
    const counters = [this.#stored, this.#pushed, this.#redelivered, this.#settled, this.#died];
    return [...counters, this.#late, this.#commits, this.#syncs].map((metric) => metric.collect());
  }
}

function latencyOf(seconds: Histogram): BrokerActivity['commits'] {
  const { count, sum } = seconds.total();
  const [p50, p95] = [seconds.quantile(0.5), seconds.quantile(0.95)];
  return {
    count,
    sum_ms: sum * 1000,
    ...(p50 !== undefined && { p50_ms: p50 * 1000 }),
    ...(p95 !== undefined && { p95_ms: p95 * 1000 }),
  };
}
