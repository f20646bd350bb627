import type {
  CallRecord,
  CallStatus,
  CallsRequest,
  McpReply,
  Sender,
  StatusRequest,
} from '@signalbox/protocol';
import { outcomeUnknown } from '../calls/call-outcome.ts';
import type { CallRegistry } from '../calls/call-registry.ts';
import { admit } from '../calls/tool-refusals.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { CallKey, Journal, JournalEntry } from '../journal/journal.ts';

const defaultLimit = 100;

/**
 * The dependencies of the status of calls. The registry knows all calls of this process; the journal outlives the
 * process but knows only the calls that are not safe to repeat.
 */
export interface CallLookupDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
  catalogs: Pick<CatalogTracker, 'current'>;
}

/** Reports the status of one of the asker's own requests. A request of another agent is `unknown` to it. */
export async function answerStatus(
  { registry, journal, catalogs }: CallLookupDeps,
  asker: Sender,
  { request_id: requestId }: StatusRequest,
): Promise<McpReply> {
  const key = { agent: asker.agent, requestId };
  if (!(await maySeeReply(asker.role, { registry, journal, catalogs }, key)))
    return { data: { state: 'unknown' } };
  const known = registry.status(key);
  const isWithoutReply = known?.state === 'finished' && known.reply === undefined;
  if (known && !isWithoutReply) return { data: known };
  const entry = journal?.find(key);
  const status: CallStatus = entry ? statusOf(entry) : (known ?? { state: 'unknown' });
  return { data: status };
}

/** A reply is for the role that made the call, or for one that may make it. */
async function maySeeReply(
  role: string,
  { registry, journal, catalogs }: CallLookupDeps,
  key: CallKey,
): Promise<boolean> {
  const call = registry.nameOf(key) ?? journal?.find(key);
  if (call === undefined || call.role === role) return true;
  return admit(await catalogs.current(), role, call.tool).refusal?.code !== 'permission_denied';
}

function statusOf({ requestId, end }: JournalEntry): CallStatus {
  if (!end) {
    const error = outcomeUnknown(requestId);
    return { state: 'finished', outcome: error.code, reply: { error } };
  }
  return {
    state: 'finished',
    outcome: end.outcome,
    ...(end.reply !== undefined && { reply: JSON.parse(end.reply) as McpReply }),
  };
}

/** Lists the calls of all agents, newest first. */
export async function answerCalls(
  { registry, journal }: CallLookupDeps,
  { running, since = 0, limit = defaultLimit }: CallsRequest,
): Promise<McpReply> {
  const known = [...registry.active(), ...(running ? [] : registry.recent())];
  const here = new Set(known.map(keyOf));
  const earlier = running ? [] : ((await journal?.list({ since, limit })) ?? []).map(recordOf);
  const calls = [...known, ...earlier.filter((call) => !here.has(keyOf(call)))]
    .filter(({ received_at }) => received_at >= since)
    .sort((a, b) => b.received_at - a.received_at)
    .slice(0, limit);
  return { data: { calls } };
}

function recordOf(entry: JournalEntry): CallRecord {
  const { agent, requestId, role, tool, server, receivedAt, startedAt, end } = entry;
  return {
    request_id: requestId,
    agent,
    role,
    tool,
    ...(server !== undefined && { server }),
    state: 'finished',
    received_at: receivedAt,
    started_at: startedAt,
    ...(end && { finished_at: end.finishedAt }),
    outcome: end?.outcome ?? 'outcome_unknown',
  };
}

function keyOf({ agent, request_id }: CallRecord): string {
  return `${agent} ${request_id}`;
}
