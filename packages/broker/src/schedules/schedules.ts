import { createHash } from 'node:crypto';
import { configuredSender, type Sender, SignalboxError } from '@signalbox/protocol';
import { type RunTimes, runTimes } from '@signalbox/protocol/run-times';
import type { KeptTime } from '@signalbox/store';
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
  /** Tells this entry from another one of the same name. */
  readonly mark: string;
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

  /**
   * Makes the schedules. `kept` is what the previous broker reached: the later runs of the schedules that it had were missed. A run of any
   * other schedule before `now` (epoch milliseconds) was never due. Throws `bad_config` for a timetable that can't be used.
   */
  constructor(
    settings: ScheduleSettings,
    { now, kept }: { now: number; kept?: Pick<KeptTime, 'earliest' | 'schedules'> | undefined },
  ) {
    const sinceOf = (name: string, entry: ScheduleEntry): number =>
      kept?.schedules[name] === markOf(entry) ? kept.earliest : now;
    this.#schedules = schedulesOf(settings, sinceOf, new Map());
  }

  /** Replaces the schedules. Unchanged ones continue. Throws `bad_config`, and then changes nothing. */
  set(settings: ScheduleSettings, now: number): void {
    this.#schedules = schedulesOf(settings, () => now, this.#schedules);
  }

  /** Returns the marks of all schedules by name. A changed schedule has another mark. */
  marks(): Record<string, string> {
    return Object.fromEntries([...this.all()].map(({ name, mark }) => [name, mark]));
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
  sinceOf: (name: string, entry: ScheduleEntry) => number,
  before: ReadonlyMap<string, Schedule>,
): ReadonlyMap<string, Schedule> {
  return new Map(
    Object.entries(settings).map(([name, entry]) => {
      const known = before.get(name);
      return [name, known?.mark === markOf(entry) ? known : scheduleOf(name, entry, sinceOf(name, entry))];
    }),
  );
}

function scheduleOf(name: string, entry: ScheduleEntry, since: number): Schedule {
  const times = runTimes(entry);
  if ('problem' in times)
    throw new SignalboxError('bad_config', `schedules.${name}.${times.field}: ${times.problem}`);
  const sender = configuredSender('schedule', name);
  const mark = markOf(entry);
  return {
    name,
    sender,
    entry,
    mark,
    times,
    doneUntil: since,
    nextAt: times.next(since),
    lastRun: undefined,
  };
}

function markOf({ cron, everyMs, timeZone, to, kind, text, catchUpMs }: ScheduleEntry): string {
  const parts = [cron, everyMs, timeZone, to, kind, text, catchUpMs].map((part) => part ?? null);
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
