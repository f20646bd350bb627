import { holdSubjects, sampledMetrics } from '@signalbox/protocol';
import { Counter, gauge, LoopDelay, type MetricFamily, type Sample } from '@signalbox/serving/monitoring';
import type { InboxStore } from '@signalbox/store';
import type { Delivery } from '../core/delivery.ts';
import type { ConnectedCallers } from '../frames/connected-callers.ts';
import type { BrokerHealth } from '../health/broker-health.ts';
import type { Holds } from '../holds/holds.ts';
import type { RoleLimits } from '../limits/role-limits.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { brokerMetrics } from './broker-metrics.ts';
import type { MessageMeter } from './message-meter.ts';
import type { OrchestratorReports } from './orchestrator-reports.ts';
import type { PendingByRole } from './pending-by-role.ts';

/** The dependencies of {@link Metrics}. */
export interface MetricsDeps {
  meter: MessageMeter;
  pending: PendingByRole;
  reports: OrchestratorReports;
  health: BrokerHealth;
  connected: ConnectedCallers;
  delivery: Pick<Delivery, 'leaseCount'>;
  store: Pick<InboxStore, 'usage' | 'dead' | 'scheduled'>;
  holds: Pick<Holds, 'all'>;
  limits: RoleLimits;
  webhooks: Pick<Webhooks, 'all'>;
  /** The version of the broker, and its start in epoch milliseconds. */
  self: { version: string; startedAt: number; diskBytes: () => Promise<number> };
  /** The codes that refusals may have. */
  codes: readonly string[];
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

const isSampled = new Set<string>(sampledMetrics.broker);

/** The figures of a broker. Most are read when they are requested; the others are counted with each event. */
export class Metrics implements Disposable {
  readonly #deps: MetricsDeps;
  readonly #refusals: Counter;
  readonly #loopDelay: LoopDelay;
  #usedBytes: number | undefined;

  constructor(deps: MetricsDeps) {
    this.#deps = deps;
    // Every code has a series, so that its first refusal is a change and not a beginning.
    this.#refusals = new Counter(brokerMetrics.refusals, deps.codes.length);
    for (const code of deps.codes) this.#refusals.add(code, '', 0);
    this.#loopDelay = new LoopDelay(brokerMetrics.loopDelay, deps.monotonic);
  }

  /** Counts a frame or a connection that was refused. */
  refused(code: string): void {
    this.#refusals.add(code);
  }

  /** Returns the counts of the broker's work since it started. */
  activity(): ReturnType<MessageMeter['activity']> {
    return this.#deps.meter.activity();
  }

  /** Returns all figures. `strangers` are the connections that have not said `hello`. */
  async collect(strangers: number): Promise<MetricFamily[]> {
    const { reports, health, delivery, store, holds, limits, webhooks, self } = this.#deps;
    const { ready } = await health.ready();
    const { maxBytes } = await this.measureStore();
    return [
      gauge(brokerMetrics.ready, ready ? 1 : 0),
      gauge(brokerMetrics.info, [[[self.version], 1]]),
      gauge(brokerMetrics.started, self.startedAt / 1000),
      gauge(brokerMetrics.strangers, strangers),
      gauge(brokerMetrics.connectionLimit, limits.forAll.connections.total),
      gauge(brokerMetrics.leases, delivery.leaseCount),
      gauge(brokerMetrics.scheduled, await store.scheduled.count()),
      gauge(
        brokerMetrics.holds,
        holdSubjects.map((on): Sample => [[on], holds.all.filter((hold) => hold.on === on).length]),
      ),
      gauge(brokerMetrics.deadLetters, await store.dead.count()),
      { ...brokerMetrics.deliveries, type: 'counter', samples: deliveriesOf(webhooks) },
      gauge(brokerMetrics.storeLimit, maxBytes),
      gauge(brokerMetrics.diskBytes, await self.diskBytes()),
      this.#loopDelay.collect(),
      ...this.#atHand(),
      ...reports.collect(),
    ];
  }

  /** Measures the bytes that are stored. The samples have the last measurement. */
  async measureStore(): Promise<{ usedBytes: number; maxBytes: number }> {
    const usage = await this.#deps.store.usage();
    this.#usedBytes = usage.usedBytes;
    return usage;
  }

  /** Returns the figures of which samples are kept. */
  sampled(): MetricFamily[] {
    return this.#atHand().filter(({ name }) => isSampled.has(name));
  }

  /** Returns the figures that cost nothing to read. */
  #atHand(): MetricFamily[] {
    const { meter, pending, connected } = this.#deps;
    const roles = Array.from(connected.roles(), ([role, count]): Sample => [[role], count]);
    return [
      gauge(brokerMetrics.connections, roles),
      ...pending.collect(),
      ...meter.collect(),
      this.#refusals.collect(),
      gauge(brokerMetrics.storeBytes, this.#usedBytes === undefined ? [] : this.#usedBytes),
      gauge(brokerMetrics.memory, process.memoryUsage.rss()),
    ];
  }

  [Symbol.dispose](): void {
    this.#loopDelay[Symbol.dispose]();
  }
}

/**
 * Counts the deliveries to each webhook. Each has a series of stored deliveries from the start, so that the first one shows as a change.
 */
function deliveriesOf(webhooks: Pick<Webhooks, 'all'>): Sample[] {
  return Array.from(webhooks.all(), ({ name, counts }): Sample[] => [
    [[name, 'stored'], counts.stored],
    [[name, 'repeated'], counts.repeated],
    ...Array.from(counts.refused, ([code, count]): Sample => [[name, code], count]),
  ]).flat();
}
