import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** An agent in whose own inbox messages wait. Times are epoch milliseconds of the broker's clock. */
export type WaitingAgent = AdminResult<'waiting'>['agents'][number];

const lookedAtOnce = 500;

/** Selects agents with mail: those that are connected or those that are not, those with a token of one role, and at most `limit`. */
export interface WaitingQuery {
  connected?: boolean;
  role?: string;
  limit: number;
}

/** Lists agents and groups that have mail, by name. `more` says whether there may be others beyond the limit. */
export async function listWaiting(
  client: BrokerClient,
  { connected, limit, role }: WaitingQuery,
): Promise<{ agents: WaitingAgent[]; more: boolean }> {
  const agents: WaitingAgent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.admin('waiting', { connected, limit: lookedAtOnce, cursor });
    agents.push(...page.agents.filter(({ roles }) => role === undefined || roles.includes(role)));
    cursor = page.cursor;
    if (agents.length > limit) return { agents: agents.slice(0, limit), more: true };
    if (cursor === undefined) return { agents, more: false };
  }
}

/** Lists agents that are not connected and have mail, and groups, as {@link listWaiting}. */
export async function listOfflineWithMail(
  client: BrokerClient,
  query: Omit<WaitingQuery, 'connected'>,
): Promise<{ agents: WaitingAgent[]; more: boolean }> {
  return await listWaiting(client, { ...query, connected: false });
}
