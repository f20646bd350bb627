import type { BrokerClient } from '@signalbox/client';
import {
  readTimeline,
  type Timeline,
  type TimelineEntry,
  type TimelineGroup,
} from '@signalbox/client/operator';
import { isPartOfTool } from '@signalbox/client/operator/internal';
import { threadOf } from '@signalbox/protocol';
import { z } from 'zod';

/** The most messages that are read at a time, and the most groups that are shown. */
const most = { messages: 2000, groups: 200 };

/** The periods that are searched in turn, in milliseconds, until there is enough to show. */
const lookBackMs = [10_000, 60_000, 600_000, 3_600_000, 86_400_000];

const word = z.string().max(256).optional();

/** The parameters of a search in the timeline. */
export const timelineQuery = z.object({
  since: z.coerce.number().int().min(0),
  id: word.describe('The request with this id, and its answers.'),
  thread: word.describe('The requests of this thread, and their answers.'),
  agent: word,
  tool: word.describe('A part of the name of a tool.'),
  outcome: word.describe('A part of an outcome, an error code or a reason.'),
  text: word.describe('A part of any id, name, kind, thread or reason.'),
});

/** Selects entries of the timeline. `since` is in epoch milliseconds. */
export type TimelineSearch = z.infer<typeof timelineQuery>;

/** The results of a search, the newest first. */
export interface FoundTimeline {
  groups: TimelineGroup[];
  /** The time from which on everything was searched, in epoch milliseconds. */
  since: number;
  /** True if there were too many entries since the requested time. Then `since` is later. */
  cut: boolean;
  callsMissing?: NonNullable<Timeline['callsMissing']>;
}

/**
 * Reads the newest messages and calls since a time, one period after the other, until there is enough to show. The result says whether
 * there is more.
 */
export async function searchTimeline(
  client: BrokerClient,
  orchestrator: string,
  { since: asked, id, agent, ...filter }: TimelineSearch,
  now: number,
): Promise<FoundTimeline> {
  const query = { newest: true, ...(agent ? { agent } : {}), ...(id ? { correlationId: id } : {}) };
  const times = [...lookBackMs.map((ms) => now - ms).filter((time) => time > asked), asked];
  let groups: TimelineGroup[] = [];
  let left = most.messages;
  let until: number | undefined;
  // An id has few messages: its request and the answers.
  for (const since of id ? [asked] : times) {
    const part = { ...query, since, limit: left, ...(until !== undefined && { until }) };
    const older = await readTimeline(client, orchestrator, part);
    groups = joined(older.groups, groups);
    left -= older.groups.reduce((sum, { entries }) => sum + entries.length, 0);
    const matching = groups.filter((group) => matches(group, filter));
    const isCut = older.more || matching.length > most.groups || (left <= 0 && since > asked);
    if (isCut || since === asked) {
      const from = older.more ? (older.groups[0]?.entries[0]?.at ?? since) : since;
      const missing = older.callsMissing && { callsMissing: older.callsMissing };
      return { groups: matching.slice(-most.groups).reverse(), since: from, cut: isCut, ...missing };
    }
    until = since;
  }
  return { groups: [], since: asked, cut: false };
}

/** Joins the groups of two periods, in the order in which they began: an answer may have come in the later one. */
function joined(older: readonly TimelineGroup[], newer: readonly TimelineGroup[]): TimelineGroup[] {
  const later = new Map(newer.map((group) => [group.correlation_id, group]));
  const all = older.map(({ correlation_id, entries }) => {
    const rest = later.get(correlation_id)?.entries ?? [];
    later.delete(correlation_id);
    return { correlation_id, entries: [...entries, ...rest] };
  });
  return [...all, ...later.values()];
}

/** Returns true if an entry of a group matches all parts of the search. */
export function matches(
  { correlation_id, entries }: TimelineGroup,
  { thread, tool, outcome, text }: Pick<TimelineSearch, 'thread' | 'tool' | 'outcome' | 'text'>,
): boolean {
  const some = (wanted: string | undefined, texts: (entry: TimelineEntry) => (string | undefined)[]) =>
    !wanted || entries.some((entry) => texts(entry).some((one) => includes(one, wanted)));
  return (
    (!thread || entries.some((entry) => threadOfEntry(entry) === thread)) &&
    (!tool || entries.some((entry) => entry.what !== 'message' && isPartOfTool(entry, tool))) &&
    some(outcome, (entry) => [
      entry.what === 'approval' ? entry.state : entry.outcome,
      entry.what === 'call' ? undefined : entry.reason,
    ]) &&
    (includes(correlation_id, text ?? '') || some(text, metadata))
  );
}

/** Returns the thread of an entry; `undefined` for an approval, which stands beside its call. */
export function threadOfEntry(entry: TimelineEntry): string | undefined {
  if (entry.what === 'approval') return undefined;
  return entry.what === 'call' ? (entry.thread ?? entry.request_id) : threadOf(entry);
}

function metadata(entry: TimelineEntry): (string | undefined)[] {
  if (entry.what === 'call')
    return [entry.request_id, entry.thread, entry.agent, entry.role, entry.tool, entry.server, entry.outcome];
  if (entry.what === 'approval')
    return [
      entry.request_id,
      entry.id,
      entry.agent,
      entry.role,
      entry.tool,
      entry.rule,
      entry.by?.agent,
      entry.reason,
    ];
  const { id, inbox, from_agent, kind, thread, outcome, reason } = entry;
  return [id, inbox, from_agent, kind, thread, outcome, reason];
}

function includes(text: string | undefined, wanted: string): boolean {
  return text?.toLowerCase().includes(wanted.toLowerCase()) === true;
}
