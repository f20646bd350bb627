import { readTimeline, type TimelineEntry, type TimelineGroup } from '@signalbox/client/operator';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf } from '../connection/orchestrator-request.ts';
import { formatDuration, formatElapsed } from '../terminal/duration.ts';
import { oneLine, printJson, printLines, printNotes, tableLines } from '../terminal/output.ts';

/** The options of `signalbox history`. `about` is the agent that it is about. */
export interface HistoryFlags extends ConnectionFlags {
  /** Shows what happened in this many milliseconds up to now. */
  since?: number;
  about?: string;
  correlation?: string;
  limit: number;
  orchestrator?: string;
  json?: boolean;
}

const hourMs = 3_600_000;

/** Prints the timeline of messages and tool calls. */
export async function printTimeline(flags: HistoryFlags): Promise<void> {
  const { about, correlation, limit, json } = flags;
  const since = Math.max(0, Date.now() - (flags.since ?? hourMs));
  const query = {
    since,
    limit,
    ...(about !== undefined && { agent: about }),
    ...(correlation !== undefined && { correlationId: correlation }),
  };
  const { groups, more, callsMissing } = await withSession(flags, (session) =>
    readTimeline(session.client, orchestratorOf(session, flags), query),
  );
  if (callsMissing) {
    printNotes(`signalbox: tool calls are not shown: ${callsMissing.message}`);
  }
  if (json) return printJson({ groups, more, ...(callsMissing && { calls_missing: callsMissing }) });
  if (groups.length === 0) return printLines(`nothing in the last ${formatDuration(Date.now() - since)}`);
  const rows = groups.flatMap(groupRows);
  printLines(tableLines(['TIME', 'FROM', 'TO', 'WHAT', 'OUTCOME', 'ID'], rows));
  if (more)
    printLines(
      '',
      `There is more after these ${messageCount(groups)}: raise --limit, or narrow it with --agent.`,
    );
}

function messageCount(groups: readonly TimelineGroup[]): number {
  return groups.flatMap(({ entries }) => entries).filter(({ what }) => what === 'message').length;
}

/** Writes the first entry with its time, and the others with how much later they were. */
function groupRows({ entries }: TimelineGroup): string[][] {
  const start = entries[0]?.at ?? 0;
  return entries.map((entry, at) => [
    at === 0 ? new Date(entry.at).toISOString() : `  +${formatElapsed(entry.at - start)}`,
    ...entryCells(entry),
  ]);
}

function entryCells(entry: TimelineEntry): string[] {
  if (entry.what === 'call') {
    const { agent, server, tool, state, outcome, started_at, finished_at, request_id } = entry;
    const took =
      finished_at === undefined ? '' : ` after ${formatElapsed(finished_at - (started_at ?? entry.at))}`;
    return [agent, server ?? '-', `call ${tool}`, `${outcome ?? state}${took}`, request_id];
  }
  if (entry.what === 'approval') {
    const { agent, tool, state, ended_at, by, reason, id } = entry;
    const who = by === undefined ? '' : ` by ${by.agent}`;
    const after = ended_at === undefined ? '' : ` after ${formatElapsed(ended_at - entry.at)}`;
    const why = reason === undefined ? '' : ` (${oneLine(reason, 60)})`;
    return [agent, '-', `approval of ${tool}`, `${state}${who}${after}${why}`, id];
  }
  const { from_agent, inbox, kind, thread, outcome, settled_at, reason, id } = entry;
  const after = settled_at === undefined ? '' : ` after ${formatElapsed(settled_at - entry.at)}`;
  const why = reason === undefined ? '' : ` (${oneLine(reason, 60)})`;
  const what = thread === undefined ? kind : `${kind} in ${thread}`;
  return [from_agent, inbox, what, `${outcome ?? 'waiting'}${after}${why}`, id];
}
