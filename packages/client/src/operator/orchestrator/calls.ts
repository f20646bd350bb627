import type { BrokerClient } from '@signalbox/client';
import {
  type AuditEntry,
  type BudgetUse,
  type CallRecord,
  type CallStatus,
  type CancelCallReply,
  callRecordSchema,
  mcpContentMethods,
  SignalboxError,
} from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { readAuditPage } from '../history/audit.ts';
import { orchestratorHint, queryOrchestrator } from './orchestrator-request.ts';

/** Selects tool calls. `since` is a time in epoch milliseconds. */
export interface CallQuery {
  /** Only calls that wait or run now. */
  running?: boolean | undefined;
  since?: number | undefined;
  /** Only calls of this agent. */
  agent?: string | undefined;
  /** A part of the name of the tool, as `SERVER:TOOL` or as on the wire. */
  tool?: string | undefined;
  /** A part of the outcome, or of the state of a call that has not ended. */
  outcome?: string | undefined;
  limit?: number | undefined;
}

/** A tool call; with a `count`, one of so many refused calls of the same agent and tool within about a minute. */
export interface ListedCall extends CallRecord {
  count?: number;
}

/** Tool calls in the order in which the orchestrator received them. Times are epoch milliseconds. */
export interface CallList {
  calls: ListedCall[];
  /**
   * The time since which each refused call is listed by itself. In the list of an agent's own calls, earlier ones are missing, and those that
   * are safe to repeat.
   */
  known_since: number;
  /** Calls that ended before this time were not looked at: there are too many that do not match. */
  searched_since?: number;
  /** The budgets of which something is used, those with the least left first. Only a list of calls that wait or run has them. */
  budgets?: BudgetUse[];
}

/** The largest number of calls that the orchestrator lists at a time. */
export const maxCalls = 1000;
/** The largest number of calls that it lists to their own agent at a time. */
export const maxOwnCalls = 100;
/** The most pages of the audit log that are searched for calls. */
const maxAuditPages = 20;

/**
 * Lists tool calls: those that an orchestrator knows, and those that ended earlier, from the audit log. Rejects at once with `no_consumer`
 * if no orchestrator of this name is connected.
 */
export async function readCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery = {},
): Promise<CallList> {
  await requireOrchestrator(client, orchestrator);
  const { running, since = 0, limit = maxCalls } = query;
  const isFiltered = Boolean(query.agent || query.tool || query.outcome);
  const asked = { op: 'calls' as const, running, since, limit: isFiltered ? maxCalls : limit };
  const known = await queryOrchestrator(client, orchestrator, asked);
  const isCut = known.calls.length === asked.limit;
  const oldest = isCut ? Math.min(...known.calls.map(({ received_at }) => received_at)) : 0;
  const calls = new Map<string, ListedCall>(known.calls.map((call) => [keyOf(call), call]));
  const { known_since } = known;
  const found = [...calls.values()].filter((call) => isMeant(call, query));
  // Before that, the orchestrator knows only some: those of the journal.
  const complete = found.filter(({ received_at }) => received_at >= known_since).length;
  const isWhole = running || since >= Math.max(known_since, oldest) || complete >= limit;
  const { budgets } = known;
  if (isWhole) return { calls: newest(found, limit), known_since, ...(budgets && { budgets }) };
  // Each kind has its own pages, so that many refusals hide no calls that ran.
  const earlier = await Promise.all(
    (['call', 'refusal'] as const).map((kind) =>
      auditedCalls(client, orchestrator, query, { calls, wanted: limit - complete, kind }),
    ),
  );
  const searched = Math.max(...earlier.map((one) => one.searched_since ?? 0));
  return {
    calls: newest([...found, ...earlier.flatMap((one) => one.calls)], limit),
    known_since,
    ...(searched > 0 && { searched_since: searched }),
  };
}

/** Lists tool calls as {@link readCalls} does. */
export async function listCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery = {},
): Promise<ListedCall[]> {
  return (await readCalls(client, orchestrator, query)).calls;
}

/**
 * Lists the tool calls of the client's own agent that an orchestrator knows, in the order in which it received them: those whose status the
 * client's role may read.
 */
export async function readOwnCalls(
  client: BrokerClient,
  orchestrator: string,
  { running, since, limit = maxOwnCalls, ...filter }: CallQuery = {},
): Promise<CallList> {
  const request = { op: 'own_calls' as const, limit: maxOwnCalls, running, since };
  const { calls, known_since } = await queryOrchestrator(client, orchestrator, request);
  const found = calls.filter((call) => isMeant(call, filter));
  return { calls: newest(found, limit), known_since };
}

/** Lists the tool calls that the orchestrator itself knows, without looking for it first: a missing one is `timed_out`. */
export async function queryCalls(
  client: BrokerClient,
  orchestrator: string,
  { since, limit = maxCalls }: Pick<CallQuery, 'since' | 'limit'> = {},
): Promise<CallRecord[]> {
  const { calls } = await queryOrchestrator(client, orchestrator, { op: 'calls', since, limit });
  return calls.sort((a, b) => a.received_at - b.received_at);
}

/** Tells whether a text is a part of the name of a tool: as on the wire, as people read it, or as `server:tool`. */
export function isPartOfTool(call: Pick<CallRecord, 'tool' | 'server'>, wanted: string): boolean {
  return [call.tool, toolLabel(call), `${call.server ?? ''}:${call.tool}`].some((name) =>
    includes(name, wanted),
  );
}

function isMeant(call: CallRecord, { agent, tool, outcome }: CallQuery): boolean {
  return (
    (!agent || call.agent === agent) &&
    (!tool || isPartOfTool(call, tool)) &&
    (!outcome || includes(call.outcome ?? call.state, outcome))
  );
}

function includes(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted.toLowerCase());
}

function keyOf({ agent, request_id }: Pick<CallRecord, 'agent' | 'request_id'>): string {
  return `${agent} ${request_id}`;
}

/** Returns the newest of some calls, in the order in which they came. */
function newest(calls: readonly ListedCall[], limit: number): ListedCall[] {
  return calls.toSorted((a, b) => a.received_at - b.received_at).slice(-limit);
}

/** Reads calls that ended from the audit log, the newest first, except those that are known. */
async function auditedCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery,
  {
    calls,
    wanted,
    kind,
  }: { calls: ReadonlyMap<string, CallRecord>; wanted: number; kind: 'call' | 'refusal' },
): Promise<Pick<CallList, 'calls' | 'searched_since'>> {
  const found = new Map<string, ListedCall>();
  const { since = 0 } = query;
  let before = Number.MAX_SAFE_INTEGER;
  for (let pages = 1; ; pages++) {
    const { entries, first } = await readAuditPage(client, { since, kinds: [kind] }, before);
    for (const entry of entries) {
      const call = entry.reported_by === orchestrator ? callOf(entry) : undefined;
      if (!call || calls.has(keyOf(call)) || found.has(keyOf(call))) continue;
      if (call.received_at >= since && isMeant(call, query)) found.set(keyOf(call), call);
    }
    // Of calls at the same millisecond, the one that ended first comes first, as an orchestrator lists them.
    const ended = { calls: [...found.values()].reverse() };
    if (first === undefined || found.size >= wanted) return ended;
    if (pages === maxAuditPages) return { ...ended, searched_since: entries.at(-1)!.at };
    before = first;
  }
}

/** Returns the call whose end an entry of the audit log describes; `undefined` if it describes something else. */
function callOf({
  code,
  at,
  waited_ms = 0,
  took_ms = 0,
  count,
  ...entry
}: AuditEntry): ListedCall | undefined {
  const isRefused = code === 'call_refused';
  if (!isRefused && code !== 'call_ended') return undefined;
  if (mcpContentMethods.some((method) => method === entry.name)) return undefined;
  const started = Math.round(at - took_ms);
  const { data } = callRecordSchema.safeParse({
    ...entry,
    tool: entry.name,
    state: 'finished',
    received_at: Math.round(started - waited_ms),
    ...(!isRefused && { started_at: started }),
    finished_at: at,
    reply_kept: false,
  });
  return data && { ...data, ...(count > 1 && { count }) };
}

/** Names a tool call: the agent that made it, and the id of its request. */
export interface NamedCall {
  agent: string;
  requestId: string;
}

/** Reads the status of a call of any agent, with its reply if that is kept. For operators. */
export async function readCall(
  client: BrokerClient,
  orchestrator: string,
  { agent, requestId }: NamedCall,
): Promise<CallStatus> {
  const request = { op: 'status' as const, request_id: requestId, as_agent: agent };
  return await queryOrchestrator(client, orchestrator, request);
}

/**
 * Cancels a waiting or running tool call of any agent. Resolves when it has ended, or 5 s later. Its tool may have taken effect;
 * `may_have_run` says whether. For operators. Rejects with `invalid_arguments` if the orchestrator does not know the call.
 */
export async function cancelCall(
  client: BrokerClient,
  orchestrator: string,
  { agent, requestId }: NamedCall,
  reason?: string,
): Promise<CancelCallReply> {
  const request = { op: 'cancel_call' as const, agent, request_id: requestId };
  return await queryOrchestrator(client, orchestrator, {
    ...request,
    ...(reason !== undefined && { reason }),
  });
}

/** Rejects with `no_consumer` if no orchestrator of this name is connected. */
export async function requireOrchestrator(client: BrokerClient, orchestrator: string): Promise<void> {
  const connected = await client.listConnected({ role: 'orchestrator' });
  if (connected.some(({ address }) => address === orchestrator)) return;
  throw new SignalboxError('no_consumer', `no orchestrator named '${orchestrator}' is connected`, {
    retryable: true,
    details: { hint: orchestratorHint },
  });
}
