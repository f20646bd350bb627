import { isDeepStrictEqual } from 'node:util';
import { configuredSender, type Sender, SignalboxError } from '@signalbox/protocol';
import { type RunTimes, runTimes } from '@signalbox/protocol/run-times';
import type { ScheduleEntry, ScheduleSettings } from './schedule-settings.ts';

/** A run of a schedule. Times are in epoch milliseconds. */
export interface Run {
  /** The time for which it was planned. */
  dueAt: number;
  /** The time when it was done or refused. */
  at: number;
  /** The reason why its message was refused; absent if it is stored. */
  refusal?: string;
}

/** A schedule of a running broker. */
export interface Schedule {
  readonly name: string;
  readonly sender: Sender;
  readonly entry: ScheduleEntry;
  readonly times: RunTimes;
  /** The time up to which its runs are done or left out, in epoch milliseconds. */
  doneUntil: number;
  /** The time of its next run; `undefined` if there is none. */
  nextAt: number | undefined;
  /** The last run since the broker started. */
  lastRun: Run | undefined;
}

/** Keeps the schedules of the configuration, and the progress of each. */
export class Schedules {
  #schedules: ReadonlyMap<string, Schedule>;

  /** Makes the schedules; runs after `since` (epoch milliseconds) are done. Throws `bad_config` for a timetable that can't be used. */
  constructor(settings: ScheduleSettings, since: number) {
    this.#schedules = schedulesOf(settings, since, new Map());
  }

  /** Replaces the schedules. Unchanged ones continue. Throws `bad_config`, and then changes nothing. */
  set(settings: ScheduleSettings, now: number): void {
    this.#schedules = schedulesOf(settings, now, this.#schedules);
  }

  /** Yields all schedules. */
  all(): Iterable<Schedule> {
    return this.#schedules.values();
  }
}

/** Notes that the runs of a schedule up to a time are done or left out. */
export function passOver(schedule: Schedule, until: number): void {
  schedule.doneUntil = until;
  schedule.nextAt = schedule.times.next(until);
}

function schedulesOf(
  settings: ScheduleSettings,
  since: number,
  before: ReadonlyMap<string, Schedule>,
): ReadonlyMap<string, Schedule> {
  return new Map(
    Object.entries(settings).map(([name, entry]) => {
      const known = before.get(name);
      return [name, known && isDeepStrictEqual(known.entry, entry) ? known : scheduleOf(name, entry, since)];
    }),
  );
}

function scheduleOf(name: string, entry: ScheduleEntry, since: number): Schedule {
  const times = runTimes(entry);
  if ('problem' in times)
    throw new SignalboxError('bad_config', `schedules.${name}.${times.field}: ${times.problem}`);
  const sender = configuredSender('schedule', name);
  return { name, sender, entry, times, doneUntil: since, nextAt: times.next(since), lastRun: undefined };
}
