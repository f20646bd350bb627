import type { BrokerClient } from '@signalbox/client';
import { readTexts, readTimeline, type TimelineEntry, type TimelineGroup } from '@signalbox/client/operator';
import { isOfCall } from '@signalbox/client/operator/internal';
import { shownExcerpt } from '@signalbox/mcp-host/redaction';
import { isPermitted, operationPermissions, permissionsOfRole } from '@signalbox/protocol';
import { formatDuration, formatElapsed } from '@signalbox/protocol/duration';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { orchestratorOf } from '../connection/orchestrator-request.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import {
  count,
  instant,
  oneLine,
  printJson,
  printLines,
  printNotes,
  tableLines,
} from '../terminal/output.ts';

/** The options of `signalbox history`. `about` is the agent that it is about. */
export interface HistoryFlags extends ConnectionFlags {
  /** Shows what happened in this many milliseconds up to now. */
  since?: number;
  about?: string;
  correlation?: string;
  limit: number;
  /** Also prints the messages that a tool call consists of. */
  verbose?: boolean;
  orchestrator?: string;
  json?: boolean;
}

const hourMs = 3_600_000;

/** Prints the timeline of messages and tool calls. */
export async function printTimeline(flags: HistoryFlags): Promise<void> {
  const { about, correlation, limit, verbose = false, json } = flags;
  const since = Math.max(0, Date.now() - (flags.since ?? hourMs));
  const query = {
    since,
    limit,
    newest: true,
    folds: !verbose && !json,
    ...(about !== undefined && { agent: about }),
    ...(correlation !== undefined && { correlationId: correlation }),
  };
  const { groups, more, callsMissing, texts } = await withClient(flags, async (connected) => {
    const timeline = await readTimeline(connected.client, await orchestratorOf(connected, flags), query);
    if (about !== undefined && timeline.groups.length === 0) await requireKnownAgent(connected, about, flags);
    return { ...timeline, texts: await textsOf(timeline.groups, connected.client) };
  });
  if (callsMissing) {
    printNotes(`signalbox: tool calls are not shown: ${callsMissing.message}`);
  }
  if (json)
    return printJson({
      groups: groups.map((group) => withTexts(group, texts)),
      more,
      ...(callsMissing && { calls_missing: callsMissing }),
    });
  if (groups.length === 0) return printLines(`nothing in the last ${formatDuration(Date.now() - since)}`);
  const rows = groups.flatMap((group) => groupRows(group, texts));
  const hasTexts = texts.size > 0;
  printLines(
    tableLines(
      ['TIME', 'FROM', 'TO', 'WHAT', 'OUTCOME', ...(hasTexts ? ['TEXT'] : []), 'ID'],
      rows.map((row) => (hasTexts ? row : row.toSpliced(-2, 1))),
      { optionalColumns: 1 },
    ),
  );
  if (more)
    printLines(
      '',
      `${count(rows.length, 'row')} shown, and there is more before: raise --limit, or narrow it with --agent.`,
    );
}

/** The beginnings of the texts of messages, by their sequence numbers. Nothing in them has the form of a credential. */
type Texts = ReadonlyMap<number, string>;

/** Reads the texts that the broker keeps, for those who may read them. */
async function textsOf(groups: readonly TimelineGroup[], client: BrokerClient): Promise<Texts> {
  const seqs = groups.flatMap(({ entries }) =>
    entries.flatMap((entry) => (entry.what === 'message' && !isOfCall(entry.kind) ? [entry.seq] : [])),
  );
  const { texts: needs } = operationPermissions.admin;
  if (seqs.length === 0 || !isPermitted(needs, permissionsOfRole(client.role))) return new Map();
  const { texts } = await readTexts(client, seqs);
  return new Map([...texts].map(([seq, text]) => [seq, shownExcerpt(text)]));
}

function withTexts({ entries, ...group }: TimelineGroup, texts: Texts) {
  const withText = entries.map((entry) => {
    const text = entry.what === 'message' ? texts.get(entry.seq) : undefined;
    return text === undefined ? entry : { ...entry, text };
  });
  return { ...group, entries: withText };
}

/** Writes the first entry with its time, and the others with how much later they were. */
function groupRows({ entries }: TimelineGroup, texts: Texts): string[][] {
  const start = entries[0]?.at ?? 0;
  return entries.map((entry, at) => [
    at === 0 ? instant(entry.at, Date.now()) : `  +${formatElapsed(entry.at - start)}`,
    ...entryCells(entry),
    entry.what === 'message' ? oneLine(texts.get(entry.seq)?.split('\n')[0] ?? '', 80) : '',
    idOf(entry),
  ]);
}

function idOf(entry: TimelineEntry): string {
  return entry.what === 'call' ? entry.request_id : entry.id;
}

function entryCells(entry: TimelineEntry): string[] {
  if (entry.what === 'call') {
    const { agent, server, tool, state, outcome, started_at, finished_at, count: times } = entry;
    const took =
      finished_at === undefined ? '' : ` after ${formatElapsed(finished_at - (started_at ?? entry.at))}`;
    const end = times === undefined ? `${outcome ?? state}${took}` : `${outcome} (${times} times)`;
    return [agent, server ?? '-', `call ${toolLabel({ tool, server })}`, end];
  }
  if (entry.what === 'approval') {
    const { agent, tool, state, ended_at, by, reason } = entry;
    const who = by === undefined ? '' : ` by ${by.agent}`;
    const after = ended_at === undefined ? '' : ` after ${formatElapsed(ended_at - entry.at)}`;
    const why = reason === undefined ? '' : ` (${oneLine(reason, 60)})`;
    return [agent, '-', `approval of ${toolLabel({ tool })}`, `${state}${who}${after}${why}`];
  }
  const { from_agent, inbox, kind, thread, outcome, settled_at, reason } = entry;
  const after = settled_at === undefined ? '' : ` after ${formatElapsed(settled_at - entry.at)}`;
  const why = reason === undefined ? '' : ` (${oneLine(reason, 60)})`;
  const what = thread === undefined ? kind : `${kind} in ${thread}`;
  return [from_agent, inbox, what, `${outcome ?? 'waiting'}${after}${why}`];
}
