import { listSchedules as readSchedules, type ScheduleReport } from '@signalbox/client/operator';
import { formatDuration } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { count, instant, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

/** The options of `signalbox schedules list`. */
export interface SchedulesFlags extends ConnectionFlags {
  json?: boolean;
}

/** Lists the schedules of a broker. */
export async function listSchedules(flags: SchedulesFlags): Promise<void> {
  const schedules = await withClient(flags, ({ client }) => readSchedules(client));
  if (flags.json) return printJson({ schedules });
  if (schedules.length === 0) {
    return printLines('the broker has no schedules; name them under schedules in signalbox.yaml');
  }
  const now = Date.now();
  const rows = schedules.map((schedule) => [
    schedule.name,
    schedule.to,
    schedule.kind,
    timetable(schedule),
    moment(schedule.next_at, now),
    moment(schedule.last_at, now),
  ]);
  const refused = schedules.filter(({ last_refusal }) => last_refusal !== undefined);
  printLines(
    ...tableLines(['NAME', 'TO', 'KIND', 'RUNS', 'NEXT RUN', 'LAST RUN'], rows),
    '',
    ...refused.map(
      ({ name, last_refusal }) => `${name}: the last run was refused: ${oneLine(last_refusal!, 200)}`,
    ),
    `${count(schedules.length, 'schedule')}; a change in signalbox.yaml is in force at SIGHUP or a restart`,
  );
}

function timetable({ cron, time_zone, every_ms }: ScheduleReport): string {
  return cron === undefined ? `every ${formatDuration(every_ms ?? 0)}` : `${cron} (${time_zone})`;
}

function moment(at: number | undefined, now: number): string {
  if (at === undefined) return '-';
  const time = instant(at, now).replace('.000Z', 'Z');
  return at > now ? `${time}, in ${formatDuration(at - now)}` : `${time}, ${formatDuration(now - at)} ago`;
}
