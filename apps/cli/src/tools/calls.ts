import { listCalls, maxCalls } from '@signalbox/operator';
import { withSession } from '../connection/client-session.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { count, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools calls`. */
export interface ToolsCallsFlags extends ToolsFlags {
  running?: boolean;
  /** Shows calls of this many milliseconds up to now. */
  since?: number;
  limit: number;
}

/** Prints the tool calls that the orchestrator knows of: those that wait, run, or ended. */
export async function printCalls(flags: ToolsCallsFlags): Promise<void> {
  const { running, limit } = flags;
  const calls = await withSession(flags, (session) =>
    listCalls(session.client, orchestratorOf(session, flags), {
      ...(running === true && { running }),
      ...(flags.since !== undefined && { since: Math.max(0, Date.now() - flags.since) }),
      limit: Math.min(limit, maxCalls),
    }),
  );
  if (flags.json) return printJson({ calls });
  if (calls.length === 0)
    return printLines(running ? 'no tool call waits or runs' : 'no tool calls in that time');
  const rows = calls.map(
    ({ agent, tool, state, received_at, started_at, finished_at, outcome, request_id }) => [
      agent,
      tool,
      state,
      new Date(started_at ?? received_at).toISOString(),
      took(started_at ?? received_at, finished_at),
      outcome ?? '-',
      request_id,
    ],
  );
  printLines(
    ...tableLines(['AGENT', 'TOOL', 'STATE', 'STARTED', 'TOOK', 'OUTCOME', 'ID'], rows),
    '',
    calls.length < limit
      ? count(calls.length, 'call')
      : `${calls.length} calls; there may be more: raise --limit.`,
  );
}

function took(start: number, end: number | undefined): string {
  const ms = (end ?? Date.now()) - start;
  return end === undefined ? `${formatElapsed(ms)} so far` : formatElapsed(ms);
}
