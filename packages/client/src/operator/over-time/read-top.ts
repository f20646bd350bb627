import type { BrokerClient } from '@signalbox/client';
import { type BrokerSample, messageOf, type SampledSeries, type SamplesReply } from '@signalbox/protocol';
import { requireOrchestrator } from '../orchestrator/calls.ts';
import { readBrokerSamples } from './read-samples.ts';
import { type RankedTool, type Ranking, rankTools } from './tool-ranking.ts';

/** The time over which rates are measured, in milliseconds. */
const rateMs = 60_000;
const orchestratorTimeoutMs = 3000;

/** What happens now: rates of the last minute, what waits by role, and the tools of a time. */
export interface Top {
  /** Epoch milliseconds of the broker's clock. */
  at: number;
  broker: {
    /** Its name, if several use the store. */
    name?: string | undefined;
    storedPerMinute: number;
    settledPerMinute: number;
    deadPerMinute: number;
    refusedPerMinute: number;
    memoryBytes?: number | undefined;
    storeBytes?: number | undefined;
  };
  /** The roles for which messages wait or that are connected, those with the most messages first. */
  roles: { role: string; connections: number; waiting: number; oldestSeconds?: number | undefined }[];
  /** The tools that were called, the first by the ranking first; or why they are not known. */
  tools: RankedTool[] | { missing: string };
}

/** Reads what happens now, with the tools of the last so many milliseconds. A top without the orchestrator says why it is missing. */
export async function readTop(
  client: BrokerClient,
  orchestrator: string,
  { lastMs, by }: { lastMs: number; by: Ranking },
): Promise<Top> {
  const [reply, tools] = await Promise.all([
    readBrokerSamples(client, {
      last_ms: rateMs,
      points: 1,
      of: [
        { metric: 'signalbox_messages_stored_total' },
        { metric: 'signalbox_messages_settled_total' },
        { metric: 'signalbox_messages_dead_total' },
        { metric: 'signalbox_refusals_total' },
        { metric: 'signalbox_resident_memory_bytes' },
        { metric: 'signalbox_store_bytes' },
      ],
    }),
    rankedOrMissing(client, orchestrator, { lastMs, by }),
  ]);
  const growth = (metric: BrokerSample): number => {
    const [covered = 0] = reply.covered_ms;
    return covered === 0 ? 0 : ((standOf(reply, metric) ?? 0) * 60_000) / covered;
  };
  return {
    at: reply.now,
    broker: {
      name: reply.process,
      storedPerMinute: growth('signalbox_messages_stored_total'),
      settledPerMinute: growth('signalbox_messages_settled_total'),
      deadPerMinute: growth('signalbox_messages_dead_total'),
      refusedPerMinute: growth('signalbox_refusals_total'),
      memoryBytes: standOf(reply, 'signalbox_resident_memory_bytes'),
      storeBytes: standOf(reply, 'signalbox_store_bytes'),
    },
    roles: await readRoles(client),
    tools,
  };
}

async function readRoles(client: BrokerClient): Promise<Top['roles']> {
  const { series } = await readBrokerSamples(client, {
    last_ms: rateMs,
    points: 1,
    of: [
      { metric: 'signalbox_pending_messages', by: ['role'] },
      { metric: 'signalbox_oldest_pending_age_seconds', by: ['role'] },
      { metric: 'signalbox_connections', by: ['role'] },
    ],
  });
  const roles = new Map<string, Top['roles'][number]>();
  for (const { metric, labels, values } of series) {
    const { role = '' } = labels;
    const known = roles.get(role) ?? { role, connections: 0, waiting: 0 };
    roles.set(role, known);
    const value = values?.[0] ?? undefined;
    if (metric === 'signalbox_connections') known.connections = value ?? 0;
    else if (metric === 'signalbox_pending_messages') known.waiting = value ?? 0;
    else known.oldestSeconds = value;
  }
  return [...roles.values()]
    .filter(({ connections, waiting }) => connections + waiting > 0)
    .sort((one, other) => other.waiting - one.waiting || (one.role < other.role ? -1 : 1));
}

async function rankedOrMissing(
  client: BrokerClient,
  orchestrator: string,
  ranking: { lastMs: number; by: Ranking },
): Promise<Top['tools']> {
  try {
    await requireOrchestrator(client, orchestrator);
    return (await rankTools(client, orchestrator, ranking, { timeoutMs: orchestratorTimeoutMs })).tools;
  } catch (thrown) {
    return { missing: messageOf(thrown) };
  }
}

function standOf({ series }: SamplesReply, metric: BrokerSample): number | undefined {
  const found: SampledSeries | undefined = series.find((one) => one.metric === metric);
  return found?.values?.[0] ?? undefined;
}
