import type { BrokerClient } from '@signalbox/client';
import type { SampledSeries } from '@signalbox/protocol';
import { serverPart } from '@signalbox/serving';
import { readOrchestratorSamples } from './read-samples.ts';

/** The ways to rank tools. */
export const rankings = ['calls', 'errors', 'p95', 'bytes'] as const;
/** A way to rank tools. */
export type Ranking = (typeof rankings)[number];

/** The figures of a tool in a time. The tools beyond the bound of the metrics are the last entry: its server and tool are `other`. */
export interface RankedTool {
  /** The name for people: `server:tool`. */
  name: string;
  server: string;
  /** The name on the wire. */
  tool: string;
  /** The calls that were started. */
  calls: number;
  /** Those of them that did not end well, errors that the tool itself told included, calls that were cancelled not. */
  errors: number;
  p50Ms?: number | undefined;
  p95Ms?: number | undefined;
  p99Ms?: number | undefined;
  /** Bytes of the replies. */
  bytes: number;
}

/** The outcomes of calls that ended well, ask their caller for something, or were given up by it. */
const good = new Set(['ok', 'input_required', 'cancelled']);

/** Reads how each tool did in the last so many milliseconds, the first by `by` first. Rejects as `queryOrchestrator`. */
export async function rankTools(
  client: BrokerClient,
  orchestrator: string,
  { lastMs, by = 'calls' }: { lastMs: number; by?: Ranking },
  options: { timeoutMs?: number } = {},
): Promise<{ tools: RankedTool[]; oldest?: number | undefined }> {
  const labels = ['server', 'tool'];
  const { series, oldest } = await readOrchestratorSamples(
    client,
    orchestrator,
    {
      last_ms: lastMs,
      points: 1,
      of: [
        { metric: 'signalbox_call_duration_seconds', by: labels },
        { metric: 'signalbox_call_duration_seconds', by: [...labels, 'outcome'] },
        { metric: 'signalbox_call_reply_bytes', by: labels },
      ],
    },
    options,
  );
  const keyOf = ({ labels: { server, tool } }: SampledSeries): string => JSON.stringify([server, tool]);
  const bytes = new Map<string, number>();
  const errors = new Map<string, number>();
  const ended: SampledSeries[] = [];
  for (const one of series) {
    const { metric, labels: own } = one;
    if (metric === 'signalbox_call_reply_bytes') bytes.set(keyOf(one), only(one.sums) ?? 0);
    else if (own.outcome === undefined) ended.push(one);
    else if (!good.has(own.outcome))
      errors.set(keyOf(one), (errors.get(keyOf(one)) ?? 0) + (only(one.counts) ?? 0));
  }
  const tools = ended.map((one): RankedTool => {
    const { server = '', tool = '' } = one.labels;
    return {
      name: isRestOfTools({ server, tool }) ? 'all other tools' : shownTool(server, tool),
      server,
      tool,
      calls: only(one.counts) ?? 0,
      errors: errors.get(keyOf(one)) ?? 0,
      p50Ms: ms(one.p50),
      p95Ms: ms(one.p95),
      p99Ms: ms(one.p99),
      bytes: bytes.get(keyOf(one)) ?? 0,
    };
  });
  return {
    tools: ranked(
      tools.filter(({ calls }) => calls > 0),
      by,
    ),
    oldest,
  };
}

/** Tells whether an entry stands for the tools beyond the bound of the metrics, and is none itself. */
export function isRestOfTools({ server, tool }: Pick<RankedTool, 'server' | 'tool'>): boolean {
  return server === 'other' && tool === 'other';
}

/**
 * Sorts tools by a ranking, the first ones first. Equal ones are sorted by their calls, then by name. The rest of the tools has no rank and
 * comes last.
 */
export function ranked(tools: readonly RankedTool[], by: Ranking): RankedTool[] {
  const size = (one: RankedTool): number => (by === 'p95' ? (one.p95Ms ?? 0) : one[by]);
  return [...tools].sort(
    (one, other) =>
      Number(isRestOfTools(one)) - Number(isRestOfTools(other)) ||
      size(other) - size(one) ||
      other.calls - one.calls ||
      (one.name < other.name ? -1 : 1),
  );
}

/** Returns the name for people of a tool whose name on the wire is `mcp_SERVER__TOOL`. A name that was cut stays as it is. */
export function shownTool(server: string, tool: string): string {
  const prefix = `mcp_${serverPart(server)}__`;
  return server !== '' && tool.startsWith(prefix) ? `${server}:${tool.slice(prefix.length)}` : tool;
}

/** Returns the value of the one slot. */
function only(values: SampledSeries['values']): number | undefined {
  return values?.[0] ?? undefined;
}

function ms(seconds: SampledSeries['values']): number | undefined {
  const value = only(seconds);
  return value === undefined ? undefined : Math.round(value * 1e6) / 1000;
}
