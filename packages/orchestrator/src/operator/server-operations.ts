import type { Log } from '@signalbox/client';
import type { McpHost, ServerStatus } from '@signalbox/mcp-host';
import {
  type DiscoveryReply,
  type McpReply,
  nearestName,
  type Sender,
  type ServerReply,
  type ServerReport,
  type ServerRequest,
  type ServersReply,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';

const maxTails = 1024 * 1024;
/** As JSON, a character may take six bytes. */
const bytesPerCharacter = 8;

/** What the answers about servers are made from. */
export interface ServerOps {
  host: McpHost;
  scheduler: CallScheduler;
  log: Log;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
}

/** Every hosted server. */
export function answerServers(ops: ServerOps): McpReply {
  const statuses = ops.host.servers();
  const servers = statuses.map((status) => reportOf(ops, status, statuses.length));
  const data: ServersReply = { servers };
  return { data };
}

/** Reloads, stops or starts one server; answers when that is done. */
export async function answerServer(
  ops: ServerOps,
  asker: Sender,
  { op, server }: ServerRequest,
): Promise<McpReply> {
  ops.log({ event: 'operator_request', op, server, agent: asker.agent });
  try {
    const data: ServerReply = { server: reportOf(ops, await ops.host[op](server), 1) };
    return { data };
  } catch (thrown) {
    if (!(thrown instanceof SignalboxError)) throw thrown;
    return { error: refused(ops.host, server, thrown) };
  }
}

/** What every server offers at this moment; those that were not needed yet are started for it. */
export async function answerDiscover({ host, log }: ServerOps, asker: Sender): Promise<McpReply> {
  log({ event: 'operator_request', op: 'discover', agent: asker.agent });
  const found = await host.discover();
  const data: DiscoveryReply = {
    servers: found.map(({ server, tools, error }) => ({
      server,
      tools: tools.map(({ name, as, description }) => ({
        name,
        as,
        ...(description !== undefined && { description }),
      })),
      ...(error !== undefined && { error }),
    })),
  };
  return { data };
}

function refused(host: McpHost, server: string, { code, message, retryable }: SignalboxError) {
  if (code !== 'server_not_found')
    return toolCallError('internal', message, { mayHaveRun: false, retryable });
  const names = host.servers().map(({ name }) => name);
  const nearest = nearestName(server, names);
  const known = names.length > 0 ? `There are: ${names.join(', ')}.` : 'This orchestrator hosts no servers.';
  const hint = nearest === undefined ? known : `The most similar server is '${nearest}'.`;
  const text = `field 'server': there is no server '${server}'`;
  return toolCallError('invalid_arguments', text, { mayHaveRun: false, hint });
}

/** One of `servers` reports that share a reply: what they show of standard error must leave it deliverable. */
function reportOf(
  { host, scheduler, maxReplyBytes }: ServerOps,
  status: ServerStatus,
  servers: number,
): ServerReport {
  const maxTail = Math.ceil(Math.min(maxTails, maxReplyBytes() / bytesPerCharacter) / servers);
  const { name, pid, uptimeMs, p50Ms, p95Ms, auth, lastError } = status;
  return {
    name,
    state: status.state,
    transport: status.transport,
    share: status.share,
    lazy: status.lazy,
    instances: status.instances,
    pids: status.pids,
    ...(pid !== undefined && { pid }),
    ...(uptimeMs !== undefined && { uptime_ms: uptimeMs }),
    restarts: status.restarts,
    tool_count: status.toolCount,
    in_flight: status.inFlight,
    waiting: scheduler.serverLoad(name).waiting,
    consecutive_failures: status.consecutiveFailures,
    circuit: status.circuit,
    cache_entries: status.cacheEntries,
    cache_hits: status.cacheHits,
    calls: status.calls,
    ...(p50Ms !== undefined && { p50_ms: p50Ms }),
    ...(p95Ms !== undefined && { p95_ms: p95Ms }),
    ...(auth !== undefined && { auth }),
    ...(lastError !== undefined && { last_error: lastError }),
    stderr_tail: host.stderrTail(name).slice(-maxTail),
  };
}
