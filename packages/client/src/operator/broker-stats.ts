import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** The counts of a broker: its connections, messages and bytes. Times are epoch milliseconds. */
export type BrokerStats = AdminResult<'stats'>;

/** A disk with fewer free bytes is nearly full. */
export const littleRoomBytes: number = 512 * 1024 * 1024;

/** Tells whether the store has used nine tenths of its cap. */
export function isStoreNearlyFull({ used_bytes, max_bytes }: BrokerStats): boolean {
  return used_bytes >= 0.9 * max_bytes;
}

/** Tells whether the disk of the data directory is nearly full. */
export function isDiskNearlyFull({ free_bytes }: BrokerStats): boolean {
  return free_bytes < littleRoomBytes;
}

/** Reads the counts of the broker. */
export async function readStats(client: BrokerClient): Promise<BrokerStats> {
  return await client.admin('stats', {});
}
