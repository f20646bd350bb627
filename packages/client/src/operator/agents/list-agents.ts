import type { BrokerClient } from '@signalbox/client';
import type { ConnectedAgent } from '@signalbox/protocol';
import { listWaiting, type WaitingAgent } from '../waiting-agents.ts';
import { type AgentSummary, agentSummaries } from './agent-summaries.ts';

/** The most agents with mail that are listed. */
const maxWaiting = 2000;

/** All connected agents but the client itself, with their status, and the agents and groups that have mail. */
export interface Fleet {
  connections: ConnectedAgent[];
  /** `more` says that there may be others. */
  waiting: { agents: WaitingAgent[]; more: boolean };
}

/** Reads the connected agents, and the agents and groups that have mail. */
export async function readFleet(client: BrokerClient): Promise<Fleet> {
  const connections = await client.listConnected({ withStatus: true });
  const waiting = await listWaiting(client, { limit: maxWaiting });
  return { connections: connections.filter(({ address }) => address !== client.address), waiting };
}

/**
 * Lists the connected agents, and the groups and offline agents with mail, in the order of their names. `more` says that there may be
 * other offline agents with mail.
 */
export function summariesOf({ connections, waiting }: Fleet): { agents: AgentSummary[]; more: boolean } {
  return { agents: agentSummaries(connections, waiting.agents), more: waiting.more };
}
