import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** The counts of a broker: its connections, messages and bytes. Times are epoch milliseconds. */
export type BrokerStats = AdminResult<'stats'>;

/** Reads the counts of the broker. */
export async function readStats(client: BrokerClient): Promise<BrokerStats> {
  return await client.admin('stats', {});
}
