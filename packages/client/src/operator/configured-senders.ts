import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** A schedule of a broker, with its next and its last run. Times are epoch milliseconds. */
export type ScheduleReport = AdminResult<'schedules'>['schedules'][number];

/** Lists the schedules of a broker. */
export async function listSchedules(client: BrokerClient): Promise<ScheduleReport[]> {
  return (await client.admin('schedules', {})).schedules;
}

/** A webhook of a broker, and its deliveries since the broker started. Times are epoch milliseconds. */
export type WebhookReport = AdminResult<'hooks'>['hooks'][number];

/** Lists the webhooks of a broker. */
export async function listWebhooks(client: BrokerClient): Promise<WebhookReport[]> {
  return (await client.admin('hooks', {})).hooks;
}
