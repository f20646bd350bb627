import type { BrokerClient } from '@signalbox/client';
import { type CallRecord, messageOf, SignalboxError } from '@signalbox/protocol';
import { listCalls } from '../orchestrator/calls.ts';
import { type HistoryMessage, type HistoryQuery, readHistory } from './history.ts';

/** An entry of the timeline: a message was sent, or a tool call came to the orchestrator. `at` in epoch milliseconds. */
export type TimelineEntry =
  | ({ what: 'message'; at: number } & HistoryMessage)
  | ({ what: 'call'; at: number } & CallRecord);

/** A request with its tool call and its answer. A message that stands alone is a group of its own. */
export interface TimelineGroup {
  correlation_id: string;
  entries: TimelineEntry[];
}

/** The messages and tool calls of a time, merged. */
export interface Timeline {
  groups: TimelineGroup[];
  /** True if there are messages beyond the limit. Calls that came after the last message, or before the first, are then left out, too. */
  more: boolean;
  /** The reason why there are no tool calls, if the orchestrator could not be asked. */
  callsMissing?: { code: string; message: string };
}

/** Reads the messages of the broker and the tool calls of an orchestrator, and merges them. `limit` counts messages. */
export async function readTimeline(
  client: BrokerClient,
  orchestrator: string,
  query: HistoryQuery,
): Promise<Timeline> {
  const { messages, more } = await readHistory(client, query);
  const { calls, callsMissing } = await callsOrReason(client, orchestrator, query.since);
  const { since, until = Number.POSITIVE_INFINITY } = query;
  const first = more && query.newest ? (messages[0]?.created_at ?? until) : since;
  const end = more && !query.newest ? (messages.at(-1)?.created_at ?? since) + 1 : until;
  const selected = calls.filter(
    (call) => isSelected(call, query) && call.received_at >= first && call.received_at < end,
  );
  return { groups: timelineOf(messages, selected), more, ...(callsMissing && { callsMissing }) };
}

/** Reads the tool calls, or the reason why they are missing: the timeline of messages is useful without them. */
async function callsOrReason(
  client: BrokerClient,
  orchestrator: string,
  since: number,
): Promise<{ calls: CallRecord[]; callsMissing?: { code: string; message: string } }> {
  try {
    return { calls: await listCalls(client, orchestrator, { since }) };
  } catch (error) {
    const code = error instanceof SignalboxError ? error.code : 'internal';
    return { calls: [], callsMissing: { code, message: messageOf(error) } };
  }
}

function isSelected({ agent, request_id }: CallRecord, query: HistoryQuery): boolean {
  return (
    (query.agent === undefined || query.agent === agent) &&
    (query.correlationId === undefined || query.correlationId === request_id)
  );
}

/**
 * Orders messages and calls as one timeline: groups in the order in which they began, the entries of each by time.
 * A request has its own id as its group, an answer the id of what it answers, a call the id of its request.
 */
export function timelineOf(
  messages: readonly HistoryMessage[],
  calls: readonly CallRecord[],
): TimelineGroup[] {
  const entries: TimelineEntry[] = [
    ...messages.map((message) => ({ what: 'message' as const, at: message.created_at, ...message })),
    ...calls.map((call) => ({ what: 'call' as const, at: call.received_at, ...call })),
  ];
  const groups = new Map<string, TimelineGroup>();
  for (const entry of entries.sort(byTime)) {
    const key = groupOf(entry);
    const group = groups.get(key);
    if (group) group.entries.push(entry);
    else groups.set(key, { correlation_id: key, entries: [entry] });
  }
  return [...groups.values()];
}

function groupOf(entry: TimelineEntry): string {
  return entry.what === 'call' ? entry.request_id : (entry.correlation_id ?? entry.id);
}

/** Compares by time; within one millisecond a request comes before its call, and the call before the answer. */
function byTime(a: TimelineEntry, b: TimelineEntry): number {
  return a.at - b.at || rank(a) - rank(b) || seqOf(a) - seqOf(b);
}

function rank(entry: TimelineEntry): number {
  if (entry.what === 'call') return 1;
  return entry.correlation_id === undefined ? 0 : 2;
}

function seqOf(entry: TimelineEntry): number {
  return entry.what === 'message' ? entry.seq : 0;
}
