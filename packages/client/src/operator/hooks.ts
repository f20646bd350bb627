import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** A webhook of a broker, and its deliveries since the broker started. Times are epoch milliseconds. */
export type WebhookReport = AdminResult<'hooks'>['hooks'][number];

/** Lists the webhooks of a broker. */
export async function listWebhooks(client: BrokerClient): Promise<WebhookReport[]> {
  return (await client.admin('hooks', {})).hooks;
}
