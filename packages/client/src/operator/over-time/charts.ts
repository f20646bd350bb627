import type { BrokerClient } from '@signalbox/client';
import type {
  BrokerSample,
  OrchestratorSample,
  SampledSeries,
  SamplesQuery,
  SamplesReply,
} from '@signalbox/protocol';
import { readBrokerSamples, readOrchestratorSamples } from './read-samples.ts';
import { shownTool } from './tool-ranking.ts';

/** What the numbers of a chart are. */
export type ChartUnit = 'a minute' | 'seconds' | 'bytes' | 'number' | 'bytes a minute';

/** Some lines over one time. */
export interface Chart {
  title: string;
  unit: ChartUnit;
  /** The ends of the slots, in epoch milliseconds. */
  at: number[];
  /** A value for each slot; null where nothing is known, or nothing had a value. */
  lines: { name: string; values: (number | null)[] }[];
  /** The number of further lines. Those of the chart are the largest. */
  others: number;
}

/** The most lines of a chart. */
const mostLines = 8;
/** The same of a chart whose lines stand beside rows, and the number of its slots. */
const besideRows = { mostLines: 100, points: 30 };

/** The way from a series to a line: its growth in a minute, its value, or a percentile. */
type Reading = 'growth' | 'stand' | 'p50' | 'p95' | 'p99' | 'sums';

/** One chart: the metric, and how its lines are made. */
interface Drawn<Name extends string> {
  title: string;
  unit: ChartUnit;
  of: readonly (SamplesQuery<Name>['of'][number] & { reading: Reading; name?: string })[];
}

/** The charts about the broker itself. */
const systemCharts: readonly Drawn<BrokerSample>[] = [
  {
    title: 'Messages',
    unit: 'a minute',
    of: [
      { metric: 'signalbox_messages_stored_total', reading: 'growth', name: 'stored' },
      { metric: 'signalbox_messages_settled_total', reading: 'growth', name: 'settled' },
      { metric: 'signalbox_messages_dead_total', reading: 'growth', name: 'dead letters' },
    ],
  },
  {
    title: 'Refused frames and connections, by code',
    unit: 'a minute',
    of: [{ metric: 'signalbox_refusals_total', by: ['code'], reading: 'growth' }],
  },
  { title: 'Time of a commit', unit: 'seconds', of: percentilesOf('signalbox_store_commit_seconds') },
  {
    title: 'Stored bytes',
    unit: 'bytes',
    of: [{ metric: 'signalbox_store_bytes', reading: 'stand', name: 'store' }],
  },
  {
    title: 'Memory of the broker',
    unit: 'bytes',
    of: [{ metric: 'signalbox_resident_memory_bytes', reading: 'stand', name: 'memory' }],
  },
];

/** The charts about agents, by role. */
const agentCharts: readonly Drawn<BrokerSample>[] = [
  {
    title: 'Messages that wait, by role',
    unit: 'number',
    of: [{ metric: 'signalbox_pending_messages', by: ['role'], reading: 'stand' }],
  },
  {
    title: 'Age of the oldest of them, by role',
    unit: 'seconds',
    of: [{ metric: 'signalbox_oldest_pending_age_seconds', by: ['role'], reading: 'stand' }],
  },
  {
    title: 'Connections, by role',
    unit: 'number',
    of: [{ metric: 'signalbox_connections', by: ['role'], reading: 'stand' }],
  },
];

const calls = 'signalbox_call_duration_seconds';

/** The charts about all servers. */
const serverCharts: readonly Drawn<OrchestratorSample>[] = [
  {
    title: 'Calls, by outcome',
    unit: 'a minute',
    of: [{ metric: calls, by: ['outcome'], reading: 'growth' }],
  },
  {
    title: 'Time of a call: p95, by server',
    unit: 'seconds',
    of: [{ metric: calls, by: ['server'], reading: 'p95' }],
  },
  {
    title: 'Wait for a turn: p95, by server',
    unit: 'seconds',
    of: [{ metric: 'signalbox_call_queue_wait_seconds', by: ['server'], reading: 'p95' }],
  },
  {
    title: 'Calls refused before they ran, by code',
    unit: 'a minute',
    of: [{ metric: 'signalbox_calls_refused_total', by: ['code'], reading: 'growth' }],
  },
  {
    title: 'Memory of the orchestrator',
    unit: 'bytes',
    of: [{ metric: 'signalbox_orchestrator_resident_memory_bytes', reading: 'stand', name: 'memory' }],
  },
];

/** The charts about one server, or one tool of it. */
function chartsOfServer(
  where: { server: string } | { server: string; tool: string },
): Drawn<OrchestratorSample>[] {
  const shared: Drawn<OrchestratorSample>[] = [
    {
      title: 'Calls, by outcome',
      unit: 'a minute',
      of: [{ metric: calls, by: ['outcome'], where, reading: 'growth' }],
    },
    { title: 'Time of a call', unit: 'seconds', of: percentilesOf(calls, where) },
  ];
  if (!('tool' in where))
    return [
      ...shared,
      {
        title: 'Time of a call: p95, by tool',
        unit: 'seconds',
        of: [{ metric: calls, by: ['server', 'tool'], where, reading: 'p95' }],
      },
    ];
  const replies = { metric: 'signalbox_call_reply_bytes', where, reading: 'sums', name: 'replies' } as const;
  return [...shared, { title: 'Bytes of replies', unit: 'bytes a minute', of: [replies] }];
}

function percentilesOf<Name extends string>(
  metric: Name,
  where?: Readonly<Record<string, string>>,
): Drawn<Name>['of'] {
  return (['p50', 'p95', 'p99'] as const).map((reading) => ({
    metric,
    ...(where && { where }),
    reading,
    name: reading,
  }));
}

/** What charts show: the broker, agents by role, all servers, one server or tool, or one line for each server or tool. */
export type ChartSubject =
  | { of: 'server_rows' }
  | { of: 'tool_rows' }
  | { of: 'system' }
  | { of: 'agents' }
  | { of: 'servers' }
  | { of: 'server'; server: string }
  | { of: 'tool'; server: string; tool: string };

/** Reads the charts of a subject for the last so many milliseconds. Rejects as `queryOrchestrator`, if the orchestrator has to answer. */
export async function readCharts(
  client: BrokerClient,
  orchestrator: string,
  subject: ChartSubject,
  lastMs: number,
  options: { timeoutMs?: number } = {},
): Promise<Chart[]> {
  const ofBroker = (charts: readonly Drawn<BrokerSample>[]) =>
    drawn(charts, (of) => readBrokerSamples(client, { last_ms: lastMs, of }));
  const ofCalls = (charts: readonly Drawn<OrchestratorSample>[]) =>
    drawn(charts, (of) => readOrchestratorSamples(client, orchestrator, { last_ms: lastMs, of }, options));
  const ofRows = (by: string[]) => {
    const { mostLines: most, points } = besideRows;
    const query = { last_ms: lastMs, points };
    return drawn<OrchestratorSample>(
      [{ title: 'Calls', unit: 'a minute', of: [{ metric: calls, by, reading: 'growth' }] }],
      (of) => readOrchestratorSamples(client, orchestrator, { ...query, of }, options),
      most,
    );
  };
  switch (subject.of) {
    case 'system':
      return await ofBroker(systemCharts);
    case 'agents':
      return await ofBroker(agentCharts);
    case 'servers':
      return await ofCalls(serverCharts);
    case 'server_rows':
      return await ofRows(['server']);
    case 'tool_rows':
      return await ofRows(['server', 'tool']);
    case 'server':
      return await ofCalls(chartsOfServer({ server: subject.server }));
    case 'tool':
      return await ofCalls(chartsOfServer({ server: subject.server, tool: subject.tool }));
  }
}

async function drawn<Name extends string>(
  charts: readonly Drawn<Name>[],
  read: (of: SamplesQuery<Name>['of']) => Promise<SamplesReply>,
  most = mostLines,
): Promise<Chart[]> {
  const wanted = charts.flatMap(({ of }) => of.map(({ reading: _, name: __, ...query }) => query));
  const distinct = new Map(wanted.map((query) => [JSON.stringify(query), query]));
  const { from, slot_ms: slotMs, covered_ms: covered, now, series } = await read([...distinct.values()]);
  const at = covered.map((_, index) => Math.min(now, from + (index + 1) * slotMs));
  return charts.map(({ title, unit, of }) => {
    const lines = of.flatMap(({ metric, by = [], reading, name }) =>
      series
        .filter(
          (one) => one.metric === metric && Object.keys(one.labels).every((label) => by.includes(label)),
        )
        .filter(({ labels }) => Object.keys(labels).length === by.length)
        .map((one) => ({
          name: name ?? nameOf(one),
          values: valuesOf(one, reading, covered),
        })),
    );
    return {
      title,
      unit,
      at,
      lines: lines.slice(0, most),
      others: Math.max(0, lines.length - most),
    };
  });
}

function nameOf({ labels: { server = '', tool, ...labels } }: SampledSeries): string {
  return tool === undefined ? [server, ...Object.values(labels)].join('') : shownTool(server, tool);
}

function valuesOf(
  { values = [], counts, sums, p50 = [], p95 = [], p99 = [] }: SampledSeries,
  reading: Reading,
  covered: readonly number[],
): (number | null)[] {
  const aMinute = (growth: readonly (number | null)[]): (number | null)[] =>
    growth.map((value, at) => (value === null ? null : (value * 60_000) / covered[at]!));
  switch (reading) {
    case 'growth':
      return aMinute(counts ?? values);
    case 'sums':
      return aMinute(sums ?? []);
    case 'stand':
      return values;
    default:
      return { p50, p95, p99 }[reading];
  }
}
