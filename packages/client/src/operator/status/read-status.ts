import type { BrokerClient } from '@signalbox/client';
import {
  type ConnectedAgent,
  type Hold,
  type ServerReport,
  type ServersReply,
  SignalboxError,
} from '@signalbox/protocol';
import { failingAgents } from '../agents/agent-summaries.ts';
import type { FailedProgram } from '../agents/failed-programs.ts';
import { type Fleet, readFleet } from '../agents/list-agents.ts';
import { type BrokerStats, readStats } from '../broker-stats.ts';
import { type ClockHold, readClock } from '../clock.ts';
import { listHolds } from '../holds.ts';
import { queryOrchestrator } from '../orchestrator/orchestrator-request.ts';
import { listOfflineWithMail } from '../waiting-agents.ts';

/** The longest wait for the orchestrator, in milliseconds: a status without it is worth more than a late one. */
const orchestratorTimeoutMs = 5000;
/** The most offline agents that are counted. */
const maxOffline = 1000;

/** The facts of a status: the broker, its clock, the agents, and the orchestrator with its servers. */
export interface Status {
  broker: BrokerStats;
  hold: ClockHold | undefined;
  /** The current holds, the oldest first. */
  holds: Hold[];
  /** The number of connected agents without the orchestrator, of those with unread mail, and of agents with mail that are not connected. */
  agents: { connected: number; withMail: number; offlineWithMail: number };
  /** The agents whose programs fail on every message, since when and why. */
  failing: { agent: string; since: number; reason: string }[];
  /** The agents whose programs ended with a failure and have not come back. */
  failed: FailedProgram[];
  orchestrator: OrchestratorStatus;
}

/** The state of an orchestrator. `servers` is empty and the other fields are absent if it does not answer. */
export interface OrchestratorStatus {
  name: string;
  state: 'ready' | 'not_connected' | 'silent';
  /** The reason why it gave no answer. */
  reason?: string;
  servers: ServerReport[];
  /** The number of calls that wait for a person. */
  approvals?: ServersReply['approvals'];
  /** The number of calls that wait because of a hold. */
  calls_held?: number;
  /** The large results that it keeps for agents. */
  kept_results?: ServersReply['kept_results'];
  /** The orchestrators with labels. */
  hosts?: ServersReply['hosts'];
  /** The files of other clients whose servers can't be read now, with the reasons. */
  unread_files?: ServersReply['unread_files'];
  /** Why the configuration file as it is now is not in force, and since when. */
  config_problem?: ServersReply['config_problem'];
  /** The patterns of roles that match nothing. */
  warnings?: ServersReply['warnings'];
  /** The keys of the configuration that a restart puts in force, and since when. */
  restart_needed?: ServersReply['restart_needed'];
}

/** Asks the broker and the orchestrator for everything that a status shows. A `fleet` that was read just now is not read again. */
export async function readStatus(
  client: BrokerClient,
  orchestrator: string,
  { fleet }: { fleet?: Fleet } = {},
): Promise<Status> {
  const broker = await readStats(client);
  const hold = await readClock(client);
  const holds = await listHolds(client);
  const { connections: connected, waiting, failed } = fleet ?? (await readFleet(client));
  // If many agents have mail, disconnected ones may be among those that were not read.
  const offline = waiting.more
    ? (await listOfflineWithMail(client, { limit: maxOffline })).agents
    : waiting.agents.filter((one) => !one.connected).slice(0, maxOffline);
  const isThere = connected.some(({ address }) => address === orchestrator);
  return {
    broker,
    hold,
    holds,
    agents: {
      ...countAgents(connected.filter(({ agent }) => agent !== orchestrator)),
      offlineWithMail: offline.length,
    },
    failing: failingAgents(connected),
    failed,
    orchestrator: isThere
      ? await askOrchestrator(client, orchestrator)
      : { name: orchestrator, state: 'not_connected', servers: [] },
  };
}

async function askOrchestrator(client: BrokerClient, name: string): Promise<OrchestratorStatus> {
  try {
    const options = { timeoutMs: orchestratorTimeoutMs };
    const { holds: _holds, ...reply } = await queryOrchestrator(client, name, { op: 'servers' }, options);
    return { name, state: 'ready', ...reply };
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    return { name, state: 'silent', reason: error.message, servers: [] };
  }
}

function countAgents(connections: readonly ConnectedAgent[]): Omit<Status['agents'], 'offlineWithMail'> {
  const byAgent = Map.groupBy(connections, ({ agent }) => agent);
  const withMail = [...byAgent.values()].filter((of) => of.some(({ inbox }) => (inbox?.unread ?? 0) > 0));
  return { connected: byAgent.size, withMail: withMail.length };
}
