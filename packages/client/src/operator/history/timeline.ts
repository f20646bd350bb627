import type { BrokerClient } from '@signalbox/client';
import { type Approval, messageOf, SignalboxError } from '@signalbox/protocol';
import { listApprovals } from '../orchestrator/approvals.ts';
import { type ListedCall, listCalls, maxCalls } from '../orchestrator/calls.ts';
import { type HistoryMessage, type HistoryQuery, readHistory } from './history.ts';

/** An approval as the timeline shows it, without the arguments of its call. */
export type ApprovalFacts = Omit<
  Approval,
  'arguments' | 'meta' | 'hidden' | 'arguments_hash' | 'definition_hash'
>;

/**
 * An entry of the timeline: a message was sent, a tool call came to the orchestrator, or began to wait for a decision. `at` in epoch
 * milliseconds.
 */
export type TimelineEntry =
  | ({ what: 'message'; at: number } & HistoryMessage)
  | ({ what: 'call'; at: number } & ListedCall)
  | ({ what: 'approval'; at: number } & ApprovalFacts);

/** A request with its tool call, its approval and its answer. A message that stands alone is a group of its own. */
export interface TimelineGroup {
  correlation_id: string;
  entries: TimelineEntry[];
}

/** The messages and tool calls of a time, merged. */
export interface Timeline {
  groups: TimelineGroup[];
  /** True if there are entries beyond the limit. */
  more: boolean;
  /** The reason why there are no tool calls, if the orchestrator could not be asked. */
  callsMissing?: { code: string; message: string };
}

/** The most approvals that are read. */
const maxApprovals = 1000;

/** Selects a part of the timeline. `limit` counts entries. */
export interface TimelineQuery extends HistoryQuery {
  /** Leaves out the messages of which a tool call consists, unless one of them ended badly. */
  folds?: boolean;
}

/** Reads the messages of the broker and the tool calls of an orchestrator, and merges them. */
export async function readTimeline(
  client: BrokerClient,
  orchestrator: string,
  { folds = false, ...query }: TimelineQuery,
): Promise<Timeline> {
  const { since, until = Number.POSITIVE_INFINITY, newest = false, limit } = query;
  const { calls, approvals, callsMissing } = await callsOrReason(client, orchestrator, since);
  const called = calls.filter((call) => isSelected(call, query) && call.received_at < until);
  // A call consists of two messages.
  const read = await readHistory(client, { ...query, limit: folds ? limit + 2 * called.length : limit });
  const { messages } = read;
  // Older calls are not known: their messages would stand there as if they belonged to none.
  const known = newest && calls.length === maxCalls ? calls[0]!.received_at : since;
  const first = Math.max(known, read.more && newest ? (messages[0]?.created_at ?? until) : since);
  const end = read.more && !newest ? (messages.at(-1)?.created_at ?? since) + 1 : until;
  const isWithin = (at: number): boolean => at >= first && at < end;
  const groups = timelineOf(
    messages.filter(({ created_at }) => isWithin(created_at)),
    called.filter(({ received_at }) => isWithin(received_at)),
    approvals.filter((one) => isSelected(one, query) && isWithin(one.created_at)),
  );
  const shown = folds ? groups.map(folded) : groups;
  const entries = shown.flatMap((group) => group.entries).sort(byTime);
  const kept = new Set(newest ? entries.slice(-limit) : entries.slice(0, limit));
  const isKept = (entry: TimelineEntry): boolean => kept.has(entry);
  return {
    groups: shown
      .map((group) => ({ ...group, entries: group.entries.filter(isKept) }))
      .filter((group) => group.entries.length > 0),
    more: read.more || first > since || kept.size < entries.length,
    ...(callsMissing && { callsMissing }),
  };
}

/** Tells whether messages of this kind are a part of a tool call. */
export function isOfCall(kind: string): boolean {
  return kind === 'mcp_request' || kind === 'mcp_reply';
}

function folded({ entries, ...group }: TimelineGroup): TimelineGroup {
  const hasCall = entries.some(({ what }) => what === 'call');
  const isFolded = (entry: TimelineEntry): boolean =>
    entry.what === 'message' && isOfCall(entry.kind) && (entry.outcome ?? 'acked') === 'acked';
  return { ...group, entries: hasCall ? entries.filter((entry) => !isFolded(entry)) : entries };
}

/** Reads the tool calls, or the reason why they are missing: the timeline of messages is useful without them. */
export async function callsOrReason(
  client: BrokerClient,
  orchestrator: string,
  since: number,
): Promise<{
  calls: ListedCall[];
  approvals: ApprovalFacts[];
  callsMissing?: { code: string; message: string };
}> {
  try {
    const calls = await listCalls(client, orchestrator, { since });
    return { calls, approvals: await approvalsSince(client, orchestrator, since) };
  } catch (error) {
    const code = error instanceof SignalboxError ? error.code : 'internal';
    return { calls: [], approvals: [], callsMissing: { code, message: messageOf(error) } };
  }
}

async function approvalsSince(
  client: BrokerClient,
  orchestrator: string,
  since: number,
): Promise<ApprovalFacts[]> {
  const { approvals } = await listApprovals(client, orchestrator, { all: true, limit: maxApprovals });
  return approvals
    .filter(({ created_at }) => created_at >= since)
    .map(
      ({ arguments: _, meta: __, hidden: ___, arguments_hash: ____, definition_hash: _____, ...facts }) =>
        facts,
    );
}

function isSelected(
  { agent, request_id }: Pick<ListedCall, 'agent' | 'request_id'>,
  query: HistoryQuery,
): boolean {
  return (
    (query.agent === undefined || query.agent === agent) &&
    (query.correlationId === undefined || query.correlationId === request_id)
  );
}

/**
 * Orders messages, calls and approvals as one timeline: groups in the order in which they began, the entries of each by time. The group of
 * a request is its own id, that of an answer the id of its request, and that of a call and its approval the id of its request.
 */
export function timelineOf(
  messages: readonly HistoryMessage[],
  calls: readonly ListedCall[],
  approvals: readonly ApprovalFacts[] = [],
): TimelineGroup[] {
  const entries: TimelineEntry[] = [
    ...messages.map((message) => ({ what: 'message' as const, at: message.created_at, ...message })),
    ...calls.map((call) => ({ what: 'call' as const, at: call.received_at, ...call })),
    ...approvals.map((one) => ({ what: 'approval' as const, at: one.created_at, ...one })),
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
  return entry.what === 'message' ? (entry.correlation_id ?? entry.id) : entry.request_id;
}

/** Compares by time; within one millisecond a request comes before its call, the call before its approval, and that before the answer. */
function byTime(a: TimelineEntry, b: TimelineEntry): number {
  return a.at - b.at || rank(a) - rank(b) || seqOf(a) - seqOf(b);
}

function rank(entry: TimelineEntry): number {
  if (entry.what === 'call') return 1;
  if (entry.what === 'approval') return 2;
  return entry.correlation_id === undefined ? 0 : 3;
}

function seqOf(entry: TimelineEntry): number {
  return entry.what === 'message' ? entry.seq : 0;
}
