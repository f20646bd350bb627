import type { Timetable } from '@signalbox/protocol/run-times';

/** A schedule: what it sends to whom, and when. */
export interface ScheduleEntry extends Timetable {
  to: string;
  kind: string;
  text: string;
  /** A run that was missed is made up for if it is less old than this, in milliseconds. Default: the last missed run always is. */
  catchUpMs?: number | undefined;
}

/** The schedules of a broker by name. */
export type ScheduleSettings = Readonly<Record<string, ScheduleEntry>>;
