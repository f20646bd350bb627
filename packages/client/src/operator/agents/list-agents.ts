import type { BrokerClient } from '@signalbox/client';
import type { ConnectedAgent } from '@signalbox/protocol';
import { listWaiting, type WaitingAgent } from '../waiting-agents.ts';
import { type AgentSummary, agentSummaries } from './agent-summaries.ts';
import { type FailedProgram, listFailedPrograms } from './failed-programs.ts';

/** The most agents with mail that are listed. */
const maxWaiting = 2000;

/** All connected agents but the client itself, with their status, the agents and groups that have mail, and those whose programs failed. */
export interface Fleet {
  connections: ConnectedAgent[];
  /** `more` says that there may be others. */
  waiting: { agents: WaitingAgent[]; more: boolean };
  failed: FailedProgram[];
}

/** Reads the connected agents, the agents and groups that have mail, and the agents whose programs failed. */
export async function readFleet(client: BrokerClient): Promise<Fleet> {
  const connections = await client.listConnected({ withStatus: true });
  const waiting = await listWaiting(client, { limit: maxWaiting });
  const failed = await listFailedPrograms(client);
  return { connections: connections.filter(({ address }) => address !== client.address), waiting, failed };
}

/**
 * Lists the connected agents, the groups and offline agents with mail, and those whose programs failed, in the order of their names.
 * `more` says that there may be other offline agents with mail.
 */
export function summariesOf({ connections, waiting, failed }: Fleet): {
  agents: AgentSummary[];
  more: boolean;
} {
  return { agents: agentSummaries(connections, waiting.agents, failed), more: waiting.more };
}
