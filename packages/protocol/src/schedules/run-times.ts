import { Cron } from 'croner';
import { suggestion } from '../names/nearest-name.ts';

/** The times of a schedule: a cron expression of five fields in a time zone, or every multiple of a period since 1970. */
export interface Timetable {
  readonly cron?: string | undefined;
  /** The period in milliseconds. */
  readonly everyMs?: number | undefined;
  /** An IANA name, for `cron`. Default: UTC. */
  readonly timeZone?: string | undefined;
}

/** The times at which a schedule runs, in epoch milliseconds. */
export interface RunTimes {
  /** Returns the first run after a time; `undefined` if there is none. */
  next(after: number): number | undefined;
  /** Returns the last run up to a time; `undefined` if there was none. */
  last(until: number): number | undefined;
}

/** The problem of a timetable, and the field that has it. */
export interface TimetableProblem {
  readonly field: keyof Timetable;
  readonly problem: string;
}

/** The shortest time between two runs. */
const minEveryMs = 1000;
const fields = 'five fields (minute, hour, day, month, weekday), as in 0 9 * * 1-5';

/**
 * Returns the runs of a timetable, or its problem. An expression whose minute or hour begins with `*` is one of intervals, and any other one
 * is of fixed times, as in the cron of most systems. Where a clock is set forward, a run at a fixed time that falls into the gap comes right
 * after it. Where the clock is set back, a run at a fixed time comes once, and one of an interval comes in both of the repeated hours.
 */
export function runTimes(timetable: Timetable): RunTimes | TimetableProblem {
  const { cron, everyMs, timeZone } = timetable;
  if (cron === undefined && everyMs === undefined)
    return { field: 'cron', problem: 'must be there, or every in its place' };
  if (cron !== undefined && everyMs !== undefined)
    return { field: 'everyMs', problem: 'does not go with cron; leave one of them out' };
  if (everyMs !== undefined) return everyTimes(everyMs, timeZone);
  return cronTimes(cron!, timeZone ?? 'UTC');
}

function everyTimes(everyMs: number, timeZone: string | undefined): RunTimes | TimetableProblem {
  if (timeZone !== undefined)
    return { field: 'timeZone', problem: 'goes with cron only; every counts from 1970 in UTC; leave it out' };
  if (everyMs < minEveryMs) return { field: 'everyMs', problem: 'must be at least 1s' };
  return {
    next: (after) => (Math.floor(after / everyMs) + 1) * everyMs,
    last: (until) => Math.floor(until / everyMs) * everyMs,
  };
}

/** The parser also takes other forms, such as a date for a single run. */
const cronForm = /^\s*(@[a-z]+|\S+(\s+\S+){4})\s*$/i;

function cronTimes(cron: string, timeZone: string): RunTimes | TimetableProblem {
  if (!isTimeZone(timeZone)) {
    const near = suggestion(timeZone, Intl.supportedValuesOf('timeZone'));
    return {
      field: 'timeZone',
      problem: `'${timeZone}' is no time zone${near}; write it like Europe/Oslo or UTC`,
    };
  }
  if (!cronForm.test(cron)) return { field: 'cron', problem: `'${cron}' is no cron expression of ${fields}` };
  let pattern: Cron;
  try {
    pattern = new Cron(withLists(cron), {
      paused: true,
      timezone: timeZone,
      mode: '5-part',
      fixedTimeRule: 'no-wildcard',
    });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^CronPattern: /, '') : String(thrown);
    return { field: 'cron', problem: `'${cron}' is no cron expression of ${fields}: ${reason}` };
  }
  if (pattern.nextRun(new Date(0)) === null)
    return { field: 'cron', problem: `'${cron}' names a day that never comes` };
  return {
    next: (after) => pattern.nextRun(new Date(Math.floor(after)))?.getTime(),
    // The runs before a time do not include one at that time.
    last: (until) => pattern.previousRuns(1, new Date(Math.floor(until) + 1))[0]?.getTime(),
  };
}

/** Writes ranges with steps as lists (`1-5/2` as `1,3,5`): the library takes every `/` for a sign of intervals. */
function withLists(cron: string): string {
  return cron.replaceAll(/(?<![^\s,])(\d{1,2})-(\d{1,2})\/(\d{1,2})(?![^\s,])/g, (text, from, to, step) => {
    if (Number(step) === 0 || Number(from) > Number(to)) return text;
    const values: number[] = [];
    for (let value = Number(from); value <= Number(to); value += Number(step)) values.push(value);
    return values.join(',');
  });
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
