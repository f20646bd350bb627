import {
  type CallRecord,
  type OrchestratorFigures,
  orchestratorFigureLimits,
  orchestratorMetrics,
} from '@signalbox/protocol';
import { Counter, gauge, LabelledHistogram, type MetricFamily } from '@signalbox/serving/monitoring';

/** The most series of calls, one for each server, tool and outcome, besides one for each outcome of all other calls. */
const maxCallSeries = 300;
/** The most servers that are counted separately. */
const maxServers = 100;

/** Counts the ended calls, and the times that they waited and ran. */
export class CallMeter {
  readonly #calls = histogramOf('calls', maxCallSeries);
  readonly #waits = histogramOf('waits', maxServers);
  readonly #replyBytes = histogramOf('replyBytes', maxCallSeries);
  readonly #refused = new Counter(orchestratorMetrics.refused);
  readonly #unknown = new Counter(orchestratorMetrics.unknown);

  /** Counts a call that has ended, by its record. */
  ended(call: CallRecord): void {
    const { tool, server = '', outcome = 'internal', received_at, started_at, finished_at } = call;
    if (outcome === 'outcome_unknown') this.#unknown.add();
    if (started_at === undefined) {
      // A call that another process started was not refused, and how long it ran is not known.
      if (outcome !== 'outcome_unknown') this.#refused.add(outcome);
    } else {
      const on = labelValue(server);
      this.#waits.observe([on], seconds(received_at, started_at));
      const named = labelValue(tool);
      this.#calls.observe([on, named, outcome], seconds(started_at, finished_at ?? started_at));
      this.#replyBytes.observe([on, named], call.reply_bytes ?? 0);
    }
  }

  /** Returns the figures of which samples are kept. */
  sampled(): MetricFamily[] {
    const counts = [this.#calls, this.#waits, this.#replyBytes, this.#refused];
    const { type: _, ...memory } = orchestratorMetrics.memory;
    return [...counts.map((one) => one.collect()), gauge(memory, process.memoryUsage.rss())];
  }

  /** Returns the counts so far. */
  collect(): Pick<OrchestratorFigures, 'calls' | 'waits' | 'replyBytes' | 'refused' | 'unknown'> {
    return {
      calls: this.#calls.collect().samples,
      waits: this.#waits.collect().samples,
      replyBytes: this.#replyBytes.collect().samples,
      refused: this.#refused.collect().samples,
      unknown: this.#unknown.collect().samples,
    };
  }
}

/** Returns the name of a server or a tool as the value of a label. A label's length is limited. */
export function labelValue(name: string): string {
  return name.slice(0, orchestratorFigureLimits.labelLength);
}

function histogramOf(key: 'calls' | 'waits' | 'replyBytes', limit: number): LabelledHistogram {
  const { buckets, ...info } = orchestratorMetrics[key];
  return new LabelledHistogram(info, buckets, limit, ['outcome']);
}

/** Returns the seconds between two times, but at least 0: the clock may be set back while a call runs. */
function seconds(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}
