import type { Log } from '@signalbox/client';
import type { McpHost, ServerStatus } from '@signalbox/mcp-host';
import { memoryOf } from '@signalbox/mcp-host/internal';
import {
  type DiscoverRequest,
  type HostReport,
  type McpReply,
  type Sender,
  type ServerReply,
  type ServerReport,
  type ServerRequest,
  type ServersReply,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import { holdText, nearestName } from '@signalbox/protocol/internal';
import type { Approvals } from '../approvals/approvals.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import type { DiscoveryPages } from '../pages/discovery-pages.ts';
import type { KeptSummary, ResultStore } from '../results/result-store.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';

/** The most characters of standard error in one reply, of all servers together. */
const maxStderrCharacters = 1024 * 1024;
const maxUnreadFiles = 100;
/** A character takes up to six bytes as JSON; the rest is room for the other fields of a report. */
const bytesPerCharacter = 8;

/** The dependencies of the operations on hosted servers. */
export interface ServerOperationDeps {
  host: McpHost;
  scheduler: CallScheduler;
  log: Log;
  discoveries: DiscoveryPages;
  holds: Pick<HeldCalls, 'all' | 'count'>;
  /** `undefined` without a journal: then no call waits for a decision. */
  approvals: Approvals | undefined;
  /** The kept large results; `undefined` if none are kept. */
  results: Pick<ResultStore, 'summary'> | undefined;
  catalogs: Pick<CatalogTracker, 'changesOf' | 'unshownOf'>;
  /** Returns which files of other clients can't be read now, and why. */
  unreadFiles: (() => readonly string[]) | undefined;
  /** The orchestrators with labels, whose servers this one offers. */
  hosts: LabelledHosts | undefined;
  /** Why the newest configuration is not in force; `undefined` if it is. */
  configProblem: () => ServersReply['config_problem'];
  /** The keys of the configuration that a restart puts in force; `undefined` if there are none. */
  restartNeeded: () => ServersReply['restart_needed'];
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
}

/**
 * Reports every hosted server. Only operators are shown the failures of starts and the servers' standard error, which may hold data that
 * the servers were sent.
 */
export async function answerServers(deps: ServerOperationDeps, asker: Sender): Promise<McpReply> {
  const statuses = deps.host.servers();
  const reports = await Promise.all(statuses.map((status) => reportOf(deps, status, statuses.length)));
  const servers = asker.role === 'operator' ? reports : reports.map(withoutDetails);
  const { all, count } = deps.holds;
  const unread = asker.role === 'operator' ? (deps.unreadFiles?.() ?? []) : [];
  const hosts = deps.hosts?.reports() ?? [];
  const configProblem = deps.configProblem();
  const restartNeeded = deps.restartNeeded();
  const { waiting = 0, oldestAt, deadlineAt } = deps.approvals?.summary() ?? {};
  const data: ServersReply = {
    servers,
    approvals: {
      waiting,
      ...(oldestAt !== undefined && { oldest_at: oldestAt }),
      ...(deadlineAt !== undefined && { deadline_at: deadlineAt }),
    },
    calls_held: count,
    ...(deps.results && { kept_results: keptResults(deps.results.summary()) }),
    ...(hosts.length > 0 && { hosts }),
    ...(unread.length > 0 && { unread_files: unread.slice(0, maxUnreadFiles) }),
    ...(configProblem && { config_problem: configProblem }),
    ...(restartNeeded && { restart_needed: restartNeeded }),
    ...(all.length > 0 && { holds: all.map(holdText) }),
  };
  return { data };
}

function keptResults({
  results,
  bytes,
  maxResults,
  maxBytes,
  problem,
}: KeptSummary): ServersReply['kept_results'] {
  return {
    ...{ results, bytes, max_results: maxResults, max_bytes: maxBytes },
    ...(problem !== undefined && { problem }),
  };
}

function withoutDetails({ start_failure, log_messages, ...report }: ServerReport): ServerReport {
  return { ...report, stderr_tail: '' };
}

/** The orchestrators with labels, as an operator sees them. */
export interface LabelledHosts {
  /** Reports each label: whether its orchestrator is there, and what it serves without being named for it. */
  reports(): HostReport[];
  /** Restarts a server that an orchestrator with this label hosts. Rejects with a `SignalboxError` if it can't be asked. */
  reload(label: string, server: string): Promise<void>;
}

/** Reloads, stops or starts one server, and resolves with its report when that is done. A server elsewhere is reloaded there first. */
export async function answerServer(
  deps: ServerOperationDeps,
  asker: Sender,
  { op, server }: ServerRequest,
): Promise<McpReply> {
  deps.log({ event: 'operator_request', op, server, agent: asker.agent });
  try {
    const label = op === 'reload' ? deps.host.labelOf(server) : undefined;
    if (label !== undefined) await deps.hosts?.reload(label, server);
    const data: ServerReply = { server: await reportOf(deps, await deps.host[op](server), 1) };
    return { data };
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError)) throw thrown;
    return { error: serverError(deps.host, server, thrown) };
  }
}

/**
 * Lists the tools that every server lists now. Servers that were not needed yet are started for this. A cursor requests a further page of
 * the last answer.
 */
export async function answerDiscover(
  { host, log, discoveries }: ServerOperationDeps,
  asker: Sender,
  { cursor }: DiscoverRequest,
): Promise<McpReply> {
  if (cursor !== undefined) return discoveries.next(asker.agent, cursor);
  log({ event: 'operator_request', op: 'discover', agent: asker.agent });
  return discoveries.first(asker.agent, await host.discover());
}

function serverError(host: McpHost, server: string, { code, message, retryable }: SignalboxError) {
  if (code !== 'server_not_found') {
    return toolCallError('internal', message, { mayHaveRun: false, retryable });
  }
  const names = host.servers().map(({ name }) => name);
  const nearest = nearestName(server, names);
  const known = names.length > 0 ? `There are: ${names.join(', ')}.` : 'This orchestrator hosts no servers.';
  const hint = nearest === undefined ? known : `The most similar server is '${nearest}'.`;
  const text = `field 'server': there is no server '${server}'`;
  return toolCallError('invalid_arguments', text, { mayHaveRun: false, hint });
}

/** Makes the report of a server; a reply has `servers` of them. Standard error is cut so that the whole reply can be delivered. */
async function reportOf(
  { host, scheduler, catalogs, maxReplyBytes }: ServerOperationDeps,
  status: ServerStatus,
  servers: number,
): Promise<ServerReport> {
  const maxTail = Math.ceil(Math.min(maxStderrCharacters, maxReplyBytes() / bytesPerCharacter) / servers);
  const { name, pid, uptimeMs, startingMs, p50Ms, p95Ms, auth, lastError, startFailure } = status;
  const { asked, refused, lastRefusal } = status.questions;
  const memory = await memoryOf(status.pids);
  const definitions = definitionCounts(host, name);
  const unshown = catalogs.unshownOf(name);
  return {
    name,
    state: status.state,
    transport: status.transport,
    ...(status.label !== undefined && { host: status.label }),
    share: status.share,
    lazy: status.lazy,
    instances: status.instances,
    pids: status.pids,
    ...(pid !== undefined && { pid }),
    ...(uptimeMs !== undefined && { uptime_ms: uptimeMs }),
    ...(startingMs !== undefined && { starting_ms: startingMs }),
    ...(memory !== undefined && { memory_bytes: memory }),
    restarts: status.restarts,
    tool_count: status.toolCount,
    tool_problems: status.toolProblems.map(({ isWithheld, isMended, ...problem }) => ({
      ...problem,
      ...(isWithheld && { withheld: isWithheld }),
      ...(isMended && { mended: isMended }),
    })),
    ...(unshown.length > 0 && { unshown }),
    tool_changes: catalogs.changesOf(name),
    ...(definitions && { definitions }),
    in_flight: status.inFlight,
    waiting: scheduler.serverLoad(name).waiting,
    consecutive_failures: status.consecutiveFailures,
    circuit: status.circuit,
    cache_entries: status.cacheEntries,
    cache_hits: status.cacheHits,
    calls: status.calls,
    ...(asked + refused > 0 && {
      questions: { asked, refused, ...(lastRefusal !== undefined && { last_refusal: lastRefusal }) },
    }),
    ...(p50Ms !== undefined && { p50_ms: p50Ms }),
    ...(p95Ms !== undefined && { p95_ms: p95Ms }),
    ...(auth !== undefined && { auth }),
    ...(lastError !== undefined && { last_error: lastError }),
    ...(startFailure && { start_failure: startFailure }),
    ...(status.logMessages.length > 0 && { log_messages: status.logMessages }),
    stderr_tail: host.stderrTail(name).slice(-maxTail),
  };
}

function definitionCounts(host: McpHost, server: string): { pinned: number; withheld: number } | undefined {
  if (!host.pinnedServers().includes(server)) return undefined;
  const states = host.definitions(server).map(({ state }) => state);
  const pinned = states.filter((state) => state === 'pinned').length;
  const gone = states.filter((state) => state === 'gone').length;
  return { pinned, withheld: states.length - pinned - gone };
}
