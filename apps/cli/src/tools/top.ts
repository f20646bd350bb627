import { type RankedTool, type Ranking, rankTools } from '@signalbox/client/operator';
import { isRestOfTools } from '@signalbox/client/operator/internal';
import { SignalboxError, sampleLimits } from '@signalbox/protocol';
import { formatDuration, formatElapsed } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { byteSize } from '../terminal/byte-size.ts';
import { count, printJson, printLines, snakeKeys, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools top`. */
export interface ToolsTopFlags extends ToolsFlags {
  by: Ranking;
  since: number;
  limit: number;
}

/** Prints the tools that were called, the first by the ranking first. */
export async function printToolsTop({ by, since, limit, ...flags }: ToolsTopFlags): Promise<void> {
  const lastMs = checkedTime(since);
  const { tools, oldest } = await withClient(
    flags,
    async (connected) =>
      await rankTools(connected.client, await orchestratorOf(connected, flags), { lastMs, by }),
  );
  const named = tools.filter((tool) => !isRestOfTools(tool));
  const shown = [...named.slice(0, limit), ...tools.filter(isRestOfTools)];
  if (flags.json)
    return printJson(snakeKeys({ lastMs, by, oldestSampleAt: oldest ?? null, tools: shown.map(withNulls) }));
  if (tools.length === 0) return printLines(`no tool was called in the last ${formatDuration(lastMs)}`);
  const rest = named.length > limit ? `, ${named.length - limit} more with --limit` : '';
  printLines(
    rankingLines(shown),
    '',
    `${count(named.length, 'tool')} in the last ${formatDuration(lastMs)}${rest}`,
  );
}

/** Lays tools out as a table. */
export function rankingLines(tools: readonly RankedTool[]): string[] {
  return tableLines(
    ['TOOL', 'CALLS', 'ERRORS', 'P50', 'P95', 'P99', 'REPLIES'],
    tools.map(({ name, calls, errors, p50Ms, p95Ms, p99Ms, bytes }) => [
      name,
      String(calls),
      String(errors),
      ...[p50Ms, p95Ms, p99Ms].map((ms) => (ms === undefined ? '-' : formatElapsed(ms))),
      byteSize(bytes),
    ]),
    { optionalColumns: 3 },
  );
}

/** Returns a time for which samples are kept. Throws `usage` for a longer or a shorter one. */
export function checkedTime(ms: number): number {
  if (ms >= 1000 && ms <= sampleLimits.lastMs) return ms;
  throw new SignalboxError('usage', '--since is from 1s to 24h: figures are kept for a day');
}

/** Makes figures that are not known null, so that each tool has the same keys. */
export function withNulls({
  p50Ms = undefined,
  p95Ms = undefined,
  p99Ms = undefined,
  ...tool
}: RankedTool): object {
  return { ...tool, p50Ms: p50Ms ?? null, p95Ms: p95Ms ?? null, p99Ms: p99Ms ?? null };
}
