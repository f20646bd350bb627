import { z } from 'zod';
import { wholeNumber } from './admin/params.ts';

/**
 * The metrics that each process samples: their names in `GET /metrics`. A reader of samples names them. The tables
 * of metrics say what they mean.
 */
export const sampledMetrics = {
  broker: [
    'signalbox_messages_stored_total',
    'signalbox_messages_settled_total',
    'signalbox_messages_dead_total',
    'signalbox_pending_messages',
    'signalbox_oldest_pending_age_seconds',
    'signalbox_connections',
    'signalbox_refusals_total',
    'signalbox_store_commit_seconds',
    'signalbox_store_bytes',
    'signalbox_resident_memory_bytes',
  ],
  orchestrator: [
    'signalbox_call_duration_seconds',
    'signalbox_call_queue_wait_seconds',
    'signalbox_call_reply_bytes',
    'signalbox_calls_refused_total',
    'signalbox_orchestrator_resident_memory_bytes',
  ],
} as const;

/** The bounds of a request for samples. */
export const sampleLimits = {
  /** The longest time, in milliseconds: samples of a minute are kept for so long. */
  lastMs: 24 * 60 * 60 * 1000,
  /** The time for which samples of a second are kept, in milliseconds. */
  secondsMs: 10 * 60 * 1000,
  points: 360,
  metrics: 8,
  /** The most numbers of an answer. */
  numbers: 40_000,
} as const;

/** Describes the fields of a request for samples of some metrics. */
export function samplesFields<Name extends string>(names: readonly [Name, ...Name[]]) {
  const error = `must be a list of 1 to ${sampleLimits.metrics} sampled metrics`;
  const label = z.string({ error: 'must be the name or the value of a label' }).max(128);
  const wanted = z.object({
    metric: z.enum(names, { error: `must be one of ${names.join(', ')}` }),
    by: z.array(label).max(3).optional(),
    where: z.record(label, label).optional(),
  });
  return {
    last_ms: wholeNumber(1000, sampleLimits.lastMs).describe(
      'How far back. Up to ten minutes, samples of a second are read; else those of a minute, and of the seconds since the last one.',
    ),
    points: wholeNumber(1, sampleLimits.points)
      .optional()
      .describe(
        'The most slots into which that time is divided. Default: 120. A slot is at least one sample long.',
      ),
    of: z
      .array(wanted, { error })
      .min(1, { error })
      .max(sampleLimits.metrics, { error })
      .describe(
        `Each \`metric\` is one of ${names.map((name) => `\`${name}\``).join(', ')}. \`by\` names the labels that have a row of their own for each value (default: none, all is one row), and \`where\` gives labels the only value that counts.`,
      ),
  };
}

function describeReply() {
  const values = z.array(z.number().nullable());
  const series = z
    .object({
      metric: z.string(),
      labels: z.record(z.string(), z.string()),
      values: values
        .optional()
        .describe(
          'Of a counter: how much it grew in each slot. Of a gauge: its last value in each slot; an age is the largest of those that were put together, others are added.',
        ),
      counts: values
        .optional()
        .describe('Of a histogram: how many values each slot has, like the next fields.'),
      sums: values.optional(),
      p50: values.optional().describe('Read from buckets, of all values of the slot.'),
      p95: values.optional(),
      p99: values.optional(),
    })
    .meta({
      id: 'SampledSeries',
      title: 'sample row',
      description:
        'One series, with a value for each slot; null where nothing was sampled, or nothing had a value.',
    });
  return z.object({
    process: z.string().optional().describe('The name of the broker, if several use its store.'),
    now: z.number(),
    oldest: z
      .number()
      .optional()
      .describe('When the oldest sample was taken that this process has of this sort.'),
    from: z.number().describe('When the first slot begins.'),
    slot_ms: z.number().describe('The length of each slot.'),
    covered_ms: z
      .array(z.number())
      .describe('For how long there are samples in each slot: the process ran. Growth is divided by this.'),
    series: z
      .array(series)
      .describe(
        'The largest of each metric. If there are more than fit into an answer, the others are one, whose labels are `other`.',
      ),
  });
}

let reply: ReturnType<typeof describeReply> | undefined;

/** Returns the schema of the answer to a request for samples, which broker and orchestrator share. */
export function samplesReplySchema(): ReturnType<typeof describeReply> {
  reply ??= describeReply();
  return reply;
}

/** Samples of some metrics, in slots of time. */
export type SamplesReply = z.infer<ReturnType<typeof samplesReplySchema>>;
/** One series of {@link SamplesReply}. */
export type SampledSeries = SamplesReply['series'][number];
/** The samples that somebody asks for. */
export interface SamplesQuery<Name extends string = string> {
  last_ms: number;
  points?: number | undefined;
  of: readonly {
    metric: Name;
    by?: readonly string[] | undefined;
    where?: Readonly<Record<string, string>> | undefined;
  }[];
}
/** The name of a metric that a broker samples. */
export type BrokerSample = (typeof sampledMetrics.broker)[number];
/** The name of a metric that an orchestrator samples. */
export type OrchestratorSample = (typeof sampledMetrics.orchestrator)[number];
