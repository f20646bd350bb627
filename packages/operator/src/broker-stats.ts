import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** What a broker holds: connections, messages and bytes. Times are epoch milliseconds. */
export type BrokerStats = AdminResult<'stats'>;

/** Reads what the broker holds. */
export async function readStats(client: BrokerClient): Promise<BrokerStats> {
  return await client.admin('stats', {});
}
