import type { Timetable } from '@signalbox/protocol/run-times';

/** A schedule: its message, its recipient, and its times. */
export interface ScheduleEntry extends Timetable {
  to: string;
  kind: string;
  text: string;
  /** The age up to which a missed run is made up for, in milliseconds. Default: the last missed run always is. */
  catchUpMs?: number | undefined;
}

/** The schedules of a broker by name. */
export type ScheduleSettings = Readonly<Record<string, ScheduleEntry>>;
