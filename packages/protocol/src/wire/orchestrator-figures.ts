import { z } from 'zod';

/** One metric of an orchestrator. */
export interface OrchestratorMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** The buckets of `mcp.server.operation.duration` in OpenTelemetry's conventions, in seconds. */
const callSeconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The upper bounds of the lengths of replies. */
const replyBytes = [1000, 10_000, 100_000, 1_000_000, 10_000_000];

/**
 * Every metric of an orchestrator, by its key in the body of the frame `metrics`. That report and the metrics of `GET /metrics` come from
 * here, and a test compares the names in the guide and the alerts with it.
 */
export const orchestratorMetrics = {
  calls: {
    type: 'histogram',
    name: 'signalbox_call_duration_seconds',
    help: 'Time from the start of a call to its end, by server, tool and outcome: ok, tool_error, input_required, or the code of the error.',
    labels: ['server', 'tool', 'outcome'],
    buckets: callSeconds,
  },
  waits: {
    type: 'histogram',
    name: 'signalbox_call_queue_wait_seconds',
    help: 'Time that calls which were started had waited for their turn, by server.',
    labels: ['server'],
    buckets: callSeconds,
  },
  replyBytes: {
    type: 'histogram',
    name: 'signalbox_call_reply_bytes',
    help: 'Length of the replies of calls that were started, by server and tool.',
    labels: ['server', 'tool'],
    buckets: replyBytes,
  },
  refused: {
    type: 'counter',
    name: 'signalbox_calls_refused_total',
    help: 'Calls that were refused before they were started, by the code of the error.',
    labels: ['code'],
  },
  unknown: {
    type: 'counter',
    name: 'signalbox_calls_outcome_unknown_total',
    help: 'Calls of which nobody knows whether they took effect: their requesters were told outcome_unknown.',
    labels: [],
  },
  running: {
    type: 'gauge',
    name: 'signalbox_calls_running',
    help: 'Calls that run, by server.',
    labels: ['server'],
  },
  waiting: {
    type: 'gauge',
    name: 'signalbox_calls_waiting',
    help: 'Calls that wait for their turn, by server.',
    labels: ['server'],
  },
  held: {
    type: 'gauge',
    name: 'signalbox_calls_held',
    help: 'Calls that wait because an operator holds their agent, its role or their tool.',
    labels: [],
  },
  approvals: {
    type: 'gauge',
    name: 'signalbox_approvals_waiting',
    help: 'Calls that wait for a person.',
    labels: [],
  },
  oldestApproval: {
    type: 'gauge',
    name: 'signalbox_approvals_oldest_age_seconds',
    help: 'Time for which the oldest of them has waited. If none waits there is no value.',
    labels: [],
  },
  servers: {
    type: 'gauge',
    name: 'signalbox_server_state',
    help: 'Always 1; the label holds the state of a hosted server, as signalbox servers shows it.',
    labels: ['server', 'state'],
  },
  circuits: {
    type: 'gauge',
    name: 'signalbox_server_circuit_open',
    help: 'Whether the circuit of a hosted server is open: 1, half open: 0.5, or closed: 0.',
    labels: ['server'],
  },
  restarts: {
    type: 'counter',
    name: 'signalbox_server_restarts_total',
    help: 'Starts of a hosted server after the first.',
    labels: ['server'],
  },
  keptResults: {
    type: 'gauge',
    name: 'signalbox_kept_results',
    help: 'Large results that are kept for agents.',
    labels: [],
  },
  keptResultBytes: {
    type: 'gauge',
    name: 'signalbox_kept_result_bytes',
    help: 'Bytes of their files.',
    labels: [],
  },
  loopDelay: {
    type: 'histogram',
    name: 'signalbox_orchestrator_event_loop_delay_seconds',
    help: 'How late a timer of the orchestrator fired, measured ten times a second.',
    labels: [],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  },
  memory: {
    type: 'gauge',
    name: 'signalbox_orchestrator_resident_memory_bytes',
    help: 'Memory of the orchestrator.',
    labels: [],
  },
} as const satisfies Record<string, OrchestratorMetric>;

/** The key of an orchestrator's metric. */
export type OrchestratorMetricKey = keyof typeof orchestratorMetrics;

/** The bounds of one report, so that no orchestrator makes the answers of a broker long. */
export const orchestratorFigureLimits = {
  /** Bytes of the body. */
  bytes: 256 * 1024,
  /** Sets of labels of one metric. */
  samples: 1000,
  labelLength: 128,
  problems: 20,
  problemLength: 200,
} as const;

/** Reads the figures of one metric: those of its type, with a value for each label and a count for each bucket. */
function samplesSchema({ type, labels, buckets = [] }: OrchestratorMetric) {
  const own = z.array(z.string().max(orchestratorFigureLimits.labelLength)).length(labels.length);
  const sample =
    type === 'histogram'
      ? z.tuple([own, z.array(z.number().min(0)).length(buckets.length + 1), z.number()])
      : z.tuple([own, z.number()]);
  return z.array(sample).max(orchestratorFigureLimits.samples).optional();
}

/** The figures of one metric: for each set of labels a value, or the counts of its buckets and their sum. */
export type OrchestratorSamples = readonly (readonly [
  labels: readonly string[],
  value: number | readonly number[],
  sum?: number,
])[];

/** The figures of an orchestrator, by the keys of {@link orchestratorMetrics}. */
export type OrchestratorFigures = { readonly [Key in OrchestratorMetricKey]?: OrchestratorSamples };

/** Returns the schema of the body of the frame `metrics`. Keys that this version does not know are dropped. */
export function orchestratorFiguresSchema(): z.ZodType<OrchestratorFigures> {
  const entries = Object.entries(orchestratorMetrics);
  return z.object(
    Object.fromEntries(entries.map(([key, metric]) => [key, samplesSchema(metric)])),
  ) as unknown as z.ZodType<OrchestratorFigures>;
}
