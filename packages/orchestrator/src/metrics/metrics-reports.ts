import type { BrokerClient } from '@signalbox/client';
import { type OrchestratorFigures, orchestratorMetrics } from '@signalbox/protocol';
import { LoopDelay } from '@signalbox/serving/monitoring';
import type { Approvals } from '../approvals/approvals.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import type { KeptSummary, ResultStore } from '../results/result-store.ts';
import type { CallMeter } from './call-meter.ts';
import type { ServerFigures } from './server-figures.ts';

const defaultEveryMs = 5000;

/** The dependencies of {@link MetricsReports}. */
export interface MetricsReportsDeps {
  client: Pick<BrokerClient, 'reportMetrics' | 'onState'>;
  calls: CallMeter;
  servers: ServerFigures;
  holds: Pick<HeldCalls, 'count'>;
  approvals: Pick<Approvals, 'summary'> | undefined;
  results: Pick<ResultStore, 'summary'> | undefined;
  /** Epoch milliseconds. */
  now: () => number;
  /** The time between two reports, in milliseconds; default 5 s. */
  everyMs?: number | undefined;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
}

/** Reports the figures of this orchestrator to the broker every few seconds, and at each new connection. */
export class MetricsReports implements Disposable {
  readonly #deps: MetricsReportsDeps;
  readonly #loopDelay: LoopDelay;
  readonly #timer: NodeJS.Timeout;
  readonly #stopListening: () => void;

  constructor(deps: MetricsReportsDeps) {
    const { client, monotonic, everyMs = defaultEveryMs } = deps;
    const { buckets: _, ...info } = orchestratorMetrics.loopDelay;
    this.#deps = deps;
    this.#loopDelay = new LoopDelay(info, monotonic);
    this.#timer = setInterval(() => this.#report(), everyMs).unref();
    this.#stopListening = client.onState(({ name }) => {
      if (name === 'ready') this.#report();
    });
    this.#report();
  }

  /** Returns all figures of this orchestrator, and sentences about its problems. */
  collect(): { figures: OrchestratorFigures; problems: string[] } {
    const { calls, servers, holds, approvals, results, now } = this.#deps;
    const { waiting = 0, oldestAt } = approvals?.summary() ?? {};
    const kept = results?.summary();
    const { figures, problems } = servers.collect();
    const own: OrchestratorFigures = {
      held: [[[], holds.count]],
      approvals: [[[], waiting]],
      oldestApproval: oldestAt === undefined ? [] : [[[], Math.max(0, now() - oldestAt) / 1000]],
      keptResults: [[[], kept?.results ?? 0]],
      keptResultBytes: [[[], kept?.bytes ?? 0]],
      loopDelay: this.#loopDelay.collect().samples,
      memory: [[[], process.memoryUsage.rss()]],
    };
    return {
      figures: { ...calls.collect(), ...figures, ...own },
      problems: [...problems, ...resultProblems(kept)],
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#stopListening();
    this.#loopDelay[Symbol.dispose]();
  }

  #report(): void {
    const { figures, problems } = this.collect();
    this.#deps.client.reportMetrics(problems, figures);
  }
}

function resultProblems({ problem }: Partial<KeptSummary> = {}): string[] {
  return problem === undefined ? [] : [`a large result was not kept: ${problem}`];
}
