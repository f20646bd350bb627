import type { BrokerClient } from '@signalbox/client';
import { listWaiting } from '../waiting-agents.ts';
import { type AgentSummary, agentSummaries } from './agent-summaries.ts';

/** The most agents with mail that are listed. */
const maxWaiting = 2000;

/**
 * Lists the connected agents, and the groups and offline agents with mail, in the order of their names. `without` names an address
 * whose connection does not count. `more` says that there may be other offline agents with mail.
 */
export async function listAgentSummaries(
  client: BrokerClient,
  without: string,
): Promise<{ agents: AgentSummary[]; more: boolean }> {
  const connections = await client.listConnected({ withStatus: true });
  const waiting = await listWaiting(client, { limit: maxWaiting });
  const others = connections.filter(({ address }) => address !== without);
  return { agents: agentSummaries(others, waiting.agents), more: waiting.more };
}
