import {
  type OrchestratorFigures,
  orchestratorFiguresSchema,
  orchestratorMetrics,
  parseJson,
} from '@signalbox/protocol';
import { type HealthCheck, type MetricFamily, reportedFamilies } from '@signalbox/serving/monitoring';
import type { Caller } from '../frames/caller.ts';
import type { Log } from '../log.ts';
import { brokerMetrics } from './broker-metrics.ts';

/** The most orchestrators whose figures are shown. The reports of further ones are dropped. */
const maxOrchestrators = 16;

interface Report {
  caller: Caller;
  problems: readonly string[];
  /** The figures as they came. They are parsed when they are requested. */
  body: string;
  /** The time of the report, in monotonic milliseconds. */
  at: number;
}

/**
 * Keeps the reports of connected orchestrators. Only the label `orchestrator` holds the id of an agent: the one that the operator chose
 * (ADR 37).
 */
export class OrchestratorReports {
  readonly #monotonic: () => number;
  readonly #log: Log;
  readonly #schema = orchestratorFiguresSchema();
  readonly #byAgent = new Map<string, Report>();

  /** `monotonic` returns milliseconds. */
  constructor({ monotonic, log }: { monotonic: () => number; log: Log }) {
    this.#monotonic = monotonic;
    this.#log = log;
  }

  /** Keeps a report in place of the previous one. */
  report(caller: Caller, { problems, body }: Pick<Report, 'problems' | 'body'>): void {
    const { agent } = caller.sender;
    if (!this.#byAgent.has(agent) && this.#byAgent.size >= maxOrchestrators) return;
    this.#byAgent.set(agent, { caller, problems, body, at: this.#monotonic() });
  }

  /** Forgets the report of a closed connection. */
  remove(caller: Caller): void {
    const { agent } = caller.sender;
    if (this.#byAgent.get(agent)?.caller === caller) this.#byAgent.delete(agent);
  }

  /** Returns the lines about orchestrators in `/readyz?verbose`. */
  checks(): HealthCheck[] {
    return Array.from(this.#byAgent, ([agent, { problems, at }]) => ({
      name: `orchestrator '${agent}'`,
      ok: problems.length === 0,
      detail: [`reported ${this.#ageSeconds(at)} s ago`, ...problems].join('; '),
    }));
  }

  /** Returns the figures of all orchestrators. */
  collect(): MetricFamily[] {
    const ages = Array.from(this.#byAgent, ([agent, { at }]) => [[agent], this.#ageSeconds(at)] as const);
    const reports = Array.from(this.#byAgent, ([by, { body }]) => ({ by, figures: this.#read(by, body) }));
    const families = reportedFamilies(orchestratorMetrics, 'orchestrator', reports);
    return [{ ...brokerMetrics.reportAge, type: 'gauge', samples: ages }, ...families];
  }

  #read(agent: string, body: string): OrchestratorFigures {
    try {
      return this.#schema.parse(parseJson(body));
    } catch (error) {
      this.#log({ level: 'warn', event: 'bad_orchestrator_figures', agent, error });
      return {};
    }
  }

  #ageSeconds(at: number): number {
    return Math.round((this.#monotonic() - at) / 100) / 10;
  }
}
