import type { CallRecord } from '@signalbox/protocol';
import type { HistoryMessage } from './broker-history.ts';

/** An entry of the timeline: a message was sent, or a tool call came to the orchestrator. `at` in epoch milliseconds. */
export type TimelineEntry =
  | ({ what: 'message'; at: number } & HistoryMessage)
  | ({ what: 'call'; at: number } & CallRecord);

/** A request with its tool call and its answer. A message that stands alone is a group of its own. */
export interface TimelineGroup {
  correlation_id: string;
  entries: TimelineEntry[];
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
