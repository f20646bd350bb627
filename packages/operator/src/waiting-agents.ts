import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** An agent in whose own inbox messages wait. Times are epoch milliseconds of the broker's clock. */
export type WaitingAgent = AdminResult<'waiting'>['agents'][number];

const lookedAtOnce = 500;

/**
 * Lists agents that are not connected and have mail, by name: all, or those with a token of one role. `more` says whether there may be
 * others beyond the limit.
 */
export async function listOfflineWithMail(
  client: BrokerClient,
  { limit, role }: { limit: number; role?: string },
): Promise<{ agents: WaitingAgent[]; more: boolean }> {
  const agents: WaitingAgent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.admin('waiting', { connected: false, limit: lookedAtOnce, cursor });
    agents.push(...page.agents.filter(({ roles }) => role === undefined || roles.includes(role)));
    cursor = page.cursor;
    if (agents.length > limit) return { agents: agents.slice(0, limit), more: true };
    if (cursor === undefined) return { agents, more: false };
  }
}
