import { type ConnectedAgent, type Hold, isGroup } from '@signalbox/protocol';
import { holdText, isOnAgent } from '@signalbox/protocol/holds';
import type { WaitingAgent } from '../waiting-agents.ts';
import type { FailedProgram } from './failed-programs.ts';
import { type KeptProcess, type ServedTurn, type WorkerStatus, workerStatus } from './worker-status.ts';

/** One agent with all its connections, or a group with mail. Times are epoch milliseconds. */
export interface AgentSummary {
  agent: string;
  roles: string[];
  /**
   * `failing`: its program fails on every message. `failed`: its program ended with a failure, and it is not connected. `connected`: it is
   * connected and announces no state of its own. `group`: agents that share an inbox.
   */
  state: 'working' | 'idle' | 'tools_lost' | 'failing' | 'failed' | 'connected' | 'offline' | 'group';
  /** The number of calls that it waits for, or of messages that it works on. */
  running: number;
  /** The turns that run, as many as a status has room for; empty for observers. Absent if `worker serve` does not serve it. */
  turns?: ServedTurn[];
  /** The number of its turns' questions that wait for a person. Absent if there is none. */
  asking?: number;
  /** The number of its processes that wait for the next turns of their threads. Absent if there is none. */
  kept?: number;
  /** Those processes, as many as a status has room for; empty for observers. Absent if there is none. */
  kept_processes?: KeptProcess[];
  /** The hold on the agent: who placed it, when and why. Absent if there is none, or it is not connected and the holds are not known. */
  on_hold?: string;
  /** True if its tool calls go directly to an orchestrator on its machine, on a lane. */
  lane?: true;
  /** The time when its oldest connection began. Absent if it is not connected. */
  connected_at?: number;
  /**
   * The number of messages that wait in its own inbox, and of those among them that it was handed. Absent if unknown, as `held` is of an
   * agent at another broker.
   */
  mail?: { unread: number; held?: number | undefined };
  /** The time when the oldest message in its own inbox was created. Absent if the time is unknown, or no message waits. */
  oldest_at?: number;
  /** The MCP clients that it runs, or the commands that were started for it. */
  clients: string[];
  /** The time since which its program fails on every message, and the newest reason. */
  failing?: { since: number; reason: string };
  /** The time and the way in which its program ended with a failure. Absent if it has come back. */
  failed?: { at: number; reason: string };
  last_output?: { at?: number; text: string };
  /** The number of times that `worker run` restarted its command. Absent if unknown. */
  restarts?: number;
  /** The brokers through which it is connected, if several share the store. */
  brokers: string[];
  /** The statuses that programs other than workers of Signalbox announced. */
  announced: unknown[];
}

/**
 * Makes one summary for each agent with all its connections, and one for each group and each other agent that has mail or whose program
 * failed, in the order of names. `holds` tell which of the others are held.
 */
export function agentSummaries(
  connections: readonly ConnectedAgent[],
  waiting: readonly WaitingAgent[],
  failed: readonly FailedProgram[] = [],
  holds: readonly Hold[] = [],
): AgentSummary[] {
  const failures = new Map(failed.map((one) => [one.agent, one]));
  const mail = new Map(waiting.map((one) => [one.agent, one]));
  const byAgent = Map.groupBy(connections, ({ agent }) => agent);
  const summaries = [
    ...[...byAgent].map(([agent, of]) => connectedSummary(agent, of, mail.get(agent))),
    ...waiting.filter(({ agent }) => !byAgent.has(agent)).map(offlineSummary),
    ...failed.filter(({ agent }) => !byAgent.has(agent) && !mail.has(agent)).map(failedSummary),
  ].map((summary) => withHold(withFailure(summary, failures.get(summary.agent)), holds));
  // The first collator of a process costs a command a thirtieth of its processor time.
  if (summaries.length < 2) return summaries;
  // The names of one run end in numbers: w-2 stands before w-10.
  const names = new Intl.Collator('en', { numeric: true });
  return summaries.sort((a, b) => names.compare(a.agent, b.agent));
}

/** Lists the agents whose programs fail on every message, in the order of names. */
export function failingAgents(
  connections: readonly ConnectedAgent[],
): { agent: string; since: number; reason: string }[] {
  const failing = connections.filter(({ status }) => {
    const known = workerStatus(status);
    return known?.worker === 'serve' && known.failing_since !== undefined;
  });
  return agentSummaries(failing, []).map(({ agent, failing }) => ({ agent, ...failing! }));
}

function offlineSummary({ agent, roles, pending, oldest_at }: WaitingAgent): AgentSummary {
  return {
    agent,
    roles,
    state: isGroup(agent) ? 'group' : 'offline',
    running: 0,
    mail: { unread: pending, held: 0 },
    oldest_at,
    clients: [],
    brokers: [],
    announced: [],
  };
}

/** Makes the summary of an agent that is not connected and has no mail. */
function failedSummary({ agent, role }: FailedProgram): AgentSummary {
  return {
    agent,
    roles: [role],
    state: 'offline',
    running: 0,
    mail: { unread: 0, held: 0 },
    clients: [],
    brokers: [],
    announced: [],
  };
}

/** Adds the hold on an agent that is not connected; the broker tells that on one that is. */
function withHold(summary: AgentSummary, holds: readonly Hold[]): AgentSummary {
  const { agent, roles, connected_at: connectedAt } = summary;
  if (connectedAt !== undefined || isGroup(agent)) return summary;
  const hold = holds.find((one) => ['', ...roles].some((role) => isOnAgent(one, { agent, role })));
  return hold ? { ...summary, on_hold: holdText(hold) } : summary;
}

function withFailure(summary: AgentSummary, failure: FailedProgram | undefined): AgentSummary {
  if (!failure) return summary;
  const { failed_at: at, reason } = failure;
  const { state } = summary;
  return {
    last_output: { at, text: reason },
    ...summary,
    state: state === 'offline' ? 'failed' : state,
    failed: { at, reason },
  };
}

function connectedSummary(
  agent: string,
  connections: readonly ConnectedAgent[],
  waiting: WaitingAgent | undefined,
): AgentSummary {
  const statuses = connections.flatMap(({ status }) => workerStatus(status) ?? []);
  const inbox = connections.find((one) => one.inbox)?.inbox;
  const served = statuses.filter((status) => status.worker === 'serve');
  // The calls of a served agent are part of its turns.
  const counted = served.length > 0 ? served : statuses;
  const running = counted.reduce((sum, status) => sum + runningCalls(status), 0);
  const asking = served.reduce((sum, { asking = 0 }) => sum + asking, 0);
  const kept = served.reduce((sum, one) => sum + (one.kept ?? 0), 0);
  const output = lastOutput(statuses);
  const restarts = statuses.flatMap((status) => (status.worker === 'run' ? (status.restarts ?? []) : []));
  const failing = failingOf(served);
  const onHold = connections.find(({ on_hold }) => on_hold !== undefined)?.on_hold;
  return {
    agent,
    roles: distinct(connections.map(({ role }) => role)),
    state: stateOf(statuses, running),
    running,
    ...(served.length > 0 && { turns: served.flatMap((one) => one.private?.running ?? []) }),
    ...(asking > 0 && { asking }),
    ...(kept > 0 && { kept, kept_processes: served.flatMap((one) => one.private?.kept ?? []) }),
    ...(onHold !== undefined && { on_hold: onHold }),
    ...(connections.some(({ lane }) => lane) && { lane: true as const }),
    connected_at: Math.min(...connections.map((one) => one.connected_at)),
    ...(inbox && { mail: inbox }),
    ...(waiting && { oldest_at: waiting.oldest_at }),
    clients: clientsOf(statuses),
    brokers: distinct(connections.flatMap(({ broker }) => broker ?? [])).sort(),
    ...(failing && { failing }),
    ...(output && { last_output: output }),
    ...(restarts.length > 0 && { restarts: restarts.reduce((sum, count) => sum + count, 0) }),
    announced: connections.flatMap(({ status }) =>
      status !== undefined && !workerStatus(status) ? [status] : [],
    ),
  };
}

function stateOf(statuses: readonly WorkerStatus[], running: number): AgentSummary['state'] {
  if (statuses.length === 0) return 'connected';
  if (statuses.some((status) => status.worker === 'run' && status.tools_lost)) return 'tools_lost';
  if (failingOf(statuses)) return 'failing';
  return running === 0 ? 'idle' : 'working';
}

/** Returns the oldest failure of the programs that serve an agent. */
function failingOf(statuses: readonly WorkerStatus[]): AgentSummary['failing'] {
  const failing = statuses.flatMap((status) => {
    if (status.worker !== 'serve' || status.failing_since === undefined) return [];
    return { since: status.failing_since, reason: status.failing_reason ?? 'unknown' };
  });
  return failing.sort((a, b) => a.since - b.since)[0];
}

function runningCalls(status: WorkerStatus): number {
  if (status.worker === 'mcp') return status.calls;
  if (status.worker === 'serve') return status.turns;
  return status.worker === 'echo' && status.state === 'working' ? 1 : 0;
}

/** Names the MCP clients; until one is connected, the commands that were started. */
function clientsOf(statuses: readonly WorkerStatus[]): string[] {
  const clients = statuses.flatMap((status) => {
    if (status.worker === 'echo') return 'echo';
    return status.worker === 'mcp' ? (status.client ?? []) : [];
  });
  if (clients.length > 0) return distinct(clients);
  return distinct(statuses.flatMap((status) => ('command' in status ? status.command : [])));
}

/** Returns the latest output. One without a time counts as the latest. */
function lastOutput(statuses: readonly WorkerStatus[]): AgentSummary['last_output'] {
  let latest: AgentSummary['last_output'];
  for (const status of statuses) {
    if (!('last_output' in status) || status.last_output === undefined) continue;
    const { last_output: text, last_output_at: at } = status;
    if (latest && timeOf(at) <= timeOf(latest.at)) continue;
    latest = { text, ...(at !== undefined && { at }) };
  }
  return latest;
}

function timeOf(at: number | undefined): number {
  return at ?? Number.POSITIVE_INFINITY;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
