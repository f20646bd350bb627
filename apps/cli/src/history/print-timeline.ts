import { type CallRecord, messageOf, SignalboxError } from '@signalbox/protocol';
import { type Session, withSession } from '../connection/client-session.ts';
import { formatDuration, formatElapsed } from '../terminal/duration.ts';
import { oneLine, printJson, printLines, tableLines, visible } from '../terminal/output.ts';
import { findCalls } from '../tools/call-records.ts';
import { readHistory } from './broker-history.ts';
import type { HistoryFlags } from './history-flags.ts';
import { type TimelineEntry, type TimelineGroup, timelineOf } from './timeline.ts';

const hourMs = 3_600_000;

/** Prints the timeline of messages and tool calls. */
export async function printTimeline(flags: HistoryFlags): Promise<void> {
  const { about, correlation, limit, json } = flags;
  const since = Math.max(0, Date.now() - (flags.since ?? hourMs));
  const query = {
    since,
    limit,
    ...(about !== undefined && { agent: about }),
    ...(correlation !== undefined && { correlation }),
  };
  const { messages, more, calls } = await withSession(flags, async (session) => ({
    ...(await readHistory(session.client, query)),
    calls: await callsOrReason(session, flags, since),
  }));
  const until = more ? (messages.at(-1)?.created_at ?? since) : Number.POSITIVE_INFINITY;
  const groups = timelineOf(
    messages,
    calls.records.filter(
      ({ agent, request_id, received_at }) =>
        (about === undefined || agent === about) &&
        (correlation === undefined || request_id === correlation) &&
        received_at <= until,
    ),
  );
  if (calls.missing) {
    process.stderr.write(`signalbox: tool calls are not shown: ${visible(calls.missing.message)}\n`);
  }
  if (json) return printJson({ groups, more, ...(calls.missing && { calls_missing: calls.missing }) });
  if (groups.length === 0) return printLines(`nothing in the last ${formatDuration(Date.now() - since)}`);
  const rows = groups.flatMap(groupRows);
  printLines(...tableLines(['TIME', 'FROM', 'TO', 'WHAT', 'OUTCOME', 'ID'], rows));
  if (more)
    printLines('', `There is more after these ${messages.length}: raise --limit, or narrow it with --agent.`);
}

/** Reads the tool calls, or the reason why they are missing: the timeline of messages is worth showing without them. */
async function callsOrReason(
  session: Session,
  flags: HistoryFlags,
  since: number,
): Promise<{ records: CallRecord[]; missing?: { code: string; message: string } }> {
  try {
    return { records: await findCalls(session, flags, { since }) };
  } catch (error) {
    const code = error instanceof SignalboxError ? error.code : 'internal';
    return { records: [], missing: { code, message: messageOf(error) } };
  }
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
  const { from_agent, inbox, kind, outcome, settled_at, reason, id } = entry;
  const after = settled_at === undefined ? '' : ` after ${formatElapsed(settled_at - entry.at)}`;
  const why = reason === undefined ? '' : ` (${oneLine(reason, 60)})`;
  return [from_agent, inbox, kind, `${outcome ?? 'waiting'}${after}${why}`, id];
}
