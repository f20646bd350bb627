import { type CallRecord, messageOf, SignalboxError } from '@signalbox/protocol';
import { type Session, withSession } from '../broker-connection/client-session.ts';
import type { ConnectionFlags } from '../broker-connection/connection.ts';
import { formatDuration, formatElapsed } from '../terminal/duration.ts';
import { count, oneLine, printJson, printLines, tableLines, visible } from '../terminal/output.ts';
import { fetchCalls } from '../tools/calls.ts';
import { readAudit, readHistory } from './broker-history.ts';
import { type TimelineEntry, type TimelineGroup, timelineOf } from './timeline.ts';

export interface HistoryFlags extends ConnectionFlags {
  audit?: boolean;
  /** How far back, in milliseconds. */
  since?: number;
  about?: string;
  correlation?: string;
  limit: number;
  orchestrator?: string;
  json?: boolean;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** What the broker gives at a time. */
const maxAuditRows = 1000;

/** Prints the timeline of messages and tool calls, or with `audit` what was refused and which tokens changed. */
export async function history(flags: HistoryFlags): Promise<void> {
  if (flags.audit) return await printAudit(flags);
  const { about, correlation, limit, json } = flags;
  const since = sinceOf(flags, hourMs);
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

/** The timeline is worth showing without the orchestrator's part, so that what is wrong with it is no failure here. */
async function callsOrReason(
  session: Session,
  flags: HistoryFlags,
  since: number,
): Promise<{ records: CallRecord[]; missing?: { code: string; message: string } }> {
  try {
    return { records: await fetchCalls(session, flags, { since }) };
  } catch (error) {
    const code = error instanceof SignalboxError ? error.code : 'internal';
    return { records: [], missing: { code, message: messageOf(error) } };
  }
}

/** The first entry with its time, the others with how much later they were. */
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

function sinceOf({ since }: HistoryFlags, byDefault: number): number {
  return Math.max(0, Date.now() - (since ?? byDefault));
}

async function printAudit(flags: HistoryFlags): Promise<void> {
  const misplaced = flags.about === undefined ? flags.correlation && '--correlation' : '--agent';
  if (misplaced) {
    throw new SignalboxError('usage', `${misplaced} belongs to the timeline, not to --audit`, {
      details: { hint: 'leave it out, or leave --audit out' },
    });
  }
  const since = sinceOf(flags, dayMs);
  const limit = Math.min(flags.limit, maxAuditRows);
  const rows = await withSession(flags, ({ client }) => readAudit(client, { since, limit }));
  if (flags.json) return printJson({ rows });
  if (rows.length === 0) return printLines('no refusals and no token events in that time');
  const cells = rows.map(({ last_at, agent, token_id, code, count: times, detail }) => [
    new Date(last_at).toISOString(),
    agent ?? '-',
    token_id ?? '-',
    code,
    String(times),
    oneLine(detail, 100),
  ]);
  printLines(
    ...tableLines(['LAST', 'AGENT', 'TOKEN', 'CODE', 'TIMES', 'DETAIL'], cells),
    '',
    rows.length < limit
      ? count(rows.length, 'row')
      : `The first ${rows.length} rows; there may be more: raise --limit or shorten --since.`,
  );
}
