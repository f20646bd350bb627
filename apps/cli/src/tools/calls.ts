import { listCalls, listOwnCalls } from '@signalbox/client/operator';
import { maxCalls, maxOwnCalls } from '@signalbox/client/operator/internal';
import { permissionsOfRole } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { formatElapsed } from '../terminal/duration.ts';
import { count, instant, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox tools calls`. */
export interface ToolsCallsFlags extends ToolsFlags {
  running?: boolean;
  /** Shows calls of this many milliseconds up to now. */
  since?: number;
  limit: number;
}

/**
 * Prints the tool calls that the orchestrator knows of: those that wait, run, or ended. An operator sees those of all agents, an agent
 * its own.
 */
export async function printCalls(flags: ToolsCallsFlags): Promise<void> {
  const { running } = flags;
  const { calls, limit } = await withClient(flags, async (connected) => {
    const { client } = connected;
    const seesAll = permissionsOfRole(client.welcome.role).length > 0;
    const limit = Math.min(flags.limit, seesAll ? maxCalls : maxOwnCalls);
    const query = {
      ...(running === true && { running }),
      ...(flags.since !== undefined && { since: Math.max(0, Date.now() - flags.since) }),
      limit,
    };
    const list = seesAll ? listCalls : listOwnCalls;
    return { calls: await list(client, await orchestratorOf(connected, flags), query), limit };
  });
  if (flags.json) return printJson({ calls });
  if (calls.length === 0)
    return printLines(running ? 'no tool call waits or runs' : 'no tool calls in that time');
  const rows = calls.map(
    ({ agent, tool, server, state, received_at, started_at, finished_at, outcome, request_id }) => [
      instant(started_at ?? received_at, Date.now()),
      agent,
      toolLabel({ tool, server }),
      outcome ?? state,
      request_id,
      took(started_at ?? received_at, finished_at),
    ],
  );
  printLines(
    ...tableLines(['STARTED', 'AGENT', 'TOOL', 'OUTCOME', 'ID', 'TOOK'], rows, { optionalColumns: 1 }),
    '',
    calls.length < limit
      ? count(calls.length, 'call')
      : `${calls.length} calls; there may be more${limit < flags.limit ? '' : ': raise --limit'}.`,
  );
}

function took(start: number, end: number | undefined): string {
  const ms = (end ?? Date.now()) - start;
  return end === undefined ? `${formatElapsed(ms)} so far` : formatElapsed(ms);
}
