import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** A schedule of a broker, with its next and its last run. Times are epoch milliseconds. */
export type ScheduleReport = AdminResult<'schedules'>['schedules'][number];

/** Lists the schedules of a broker. */
export async function listSchedules(client: BrokerClient): Promise<ScheduleReport[]> {
  return (await client.admin('schedules', {})).schedules;
}
