import {
  type CallRecord,
  type CallStatus,
  type CallsRequest,
  type McpReply,
  maxBudgetUses,
  type OwnCallsRequest,
  type Sender,
  type StatusRequest,
} from '@signalbox/protocol';
import type { CallKey, Journal, JournalEntry, JournalRecord, OwnCallsQuery } from '@signalbox/store/journal';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import { endedUnanswered, outcomeUnknown } from '../calls/call-outcome.ts';
import type { CallRegistry } from '../calls/call-registry.ts';
import { maySeeReply } from '../calls/tool-refusals.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import { sentReply } from '../tasks/task-call.ts';

const defaultLimit = 100;
const defaultOwnLimit = 20;

/**
 * The dependencies of the status of calls. The registry knows the newest calls of this process. The journal outlives the process, and knows
 * the calls that are not safe to repeat and those whose replies are kept.
 */
export interface CallLookupDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
  catalogs: Pick<CatalogTracker, 'current'>;
}

/**
 * Reports the status of one of the asker's own requests. Operators may ask for any agent's request; for all others another agent's request
 * is `unknown`.
 */
export async function answerStatus(
  { registry, journal, catalogs }: CallLookupDeps,
  asker: Sender,
  { request_id: requestId, as_agent: other }: StatusRequest,
): Promise<McpReply> {
  const key = { agent: other ?? asker.agent, requestId };
  if (other === undefined && !(await isForRole(asker.role, { registry, journal, catalogs }, key)))
    return { data: { state: 'unknown' } };
  const known = registry.status(key);
  const isWithoutReply = known?.state === 'finished' && known.reply === undefined;
  if (known && !isWithoutReply) return { data: known };
  const entry = await journal?.find(key);
  const status: CallStatus = entry ? statusOf(entry) : (known ?? { state: 'unknown' });
  return { data: status };
}

async function isForRole(
  role: string,
  { registry, journal, catalogs }: CallLookupDeps,
  key: CallKey,
): Promise<boolean> {
  const call = registry.nameOf(key) ?? (await journal?.find(key));
  return call === undefined || maySeeReply(await catalogs.current(), role, call);
}

function statusOf(entry: JournalEntry): CallStatus {
  const { requestId, wasStarted, isSettled, end } = entry;
  // The request waits at the broker until this process accepts it.
  if (!wasStarted && !isSettled) return { state: 'queued' };
  if (!end) {
    const error = wasStarted ? outcomeUnknown(requestId) : endedUnanswered();
    return { state: 'finished', outcome: error.code, reply: { error } };
  }
  return {
    state: 'finished',
    outcome: end.outcome,
    ...(end.reply !== undefined && { reply: sentReply(end.reply) }),
  };
}

/** Lists the calls of all agents, newest first. */
export async function answerCalls(
  deps: CallLookupDeps & { budgets: Pick<BudgetLedger, 'uses'> },
  query: CallsRequest,
): Promise<McpReply> {
  const { limit = defaultLimit, running } = query;
  const calls = await listCalls(deps, { ...query, limit });
  const budgets = running ? { budgets: deps.budgets.uses().slice(0, maxBudgetUses) } : {};
  return { data: { calls: calls.slice(0, limit), known_since: deps.registry.knownSince, ...budgets } };
}

/** Lists the asker's own calls whose status it may ask for, newest first. */
export async function answerOwnCalls(
  deps: CallLookupDeps,
  { agent, role }: Sender,
  query: OwnCallsRequest,
): Promise<McpReply> {
  const { limit = defaultOwnLimit } = query;
  const catalog = await deps.catalogs.current();
  const calls = await listCalls(
    deps,
    { ...query, limit, isListed: (call) => maySeeReply(catalog, role, call) },
    agent,
  );
  return { data: { calls: calls.slice(0, limit), known_since: deps.registry.knownSince } };
}

/** Lists calls, newest first: those of one agent, or of all. There may be more than `limit`. */
async function listCalls(
  { registry, journal }: CallLookupDeps,
  {
    running,
    since = 0,
    limit,
    isListed = () => true,
  }: Pick<CallsRequest, 'running' | 'since'> & Pick<OwnCallsQuery, 'limit' | 'isListed'>,
  agent?: string,
): Promise<CallRecord[]> {
  const active = registry.active(agent);
  const calls = new Map<string, CallRecord>();
  if (!running) {
    const query = { since, limit, isListed };
    const written = await (agent === undefined ? journal?.list(query) : journal?.listOf(agent, query));
    for (const call of written ?? []) calls.set(keyOf(call), recordOf(call));
  }
  for (const call of running ? active : [...registry.recent(agent), ...active]) {
    const key = keyOf({ agent: call.agent, requestId: call.request_id });
    const isKept = call.reply_kept || calls.get(key)?.reply_kept;
    calls.set(key, { ...call, ...(call.reply_kept !== undefined && { reply_kept: isKept }) });
  }
  return [...calls.values()]
    .filter((call) => call.received_at >= since && isListed(call))
    .sort((a, b) => b.received_at - a.received_at);
}

function recordOf(call: JournalRecord): CallRecord {
  const { agent, requestId, role, tool, thread, server, receivedAt, startedAt, end } = call;
  const { wasStarted, isSettled } = call;
  return {
    request_id: requestId,
    agent,
    role,
    tool,
    ...(thread !== undefined && { thread }),
    ...(server !== undefined && { server }),
    state: wasStarted || isSettled ? 'finished' : 'queued',
    received_at: receivedAt,
    ...(startedAt !== undefined && { started_at: startedAt }),
    ...(end && { finished_at: end.finishedAt }),
    ...((wasStarted || isSettled) && {
      outcome: end?.outcome ?? (wasStarted ? 'outcome_unknown' : endedUnanswered().code),
      reply_kept: end?.isReplyKept ?? true,
    }),
  };
}

function keyOf({ agent, requestId }: CallKey): string {
  return `${agent} ${requestId}`;
}
