import { expect, test } from 'vitest';
import { type RunTimes, runTimes, type Timetable } from './run-times.ts';

function timesOf(timetable: Timetable): RunTimes {
  const times = runTimes(timetable);
  if ('problem' in times) throw new Error(times.problem);
  return times;
}

const at = (text: string): number => Date.parse(text);

/** The next runs after a time, as texts. */
function runs(timetable: Timetable, after: string, count: number): string[] {
  const { next } = timesOf(timetable);
  const found: string[] = [];
  for (let time = next(at(after)); time !== undefined && found.length < count; time = next(time))
    found.push(new Date(time).toISOString());
  return found;
}

test('A cron expression runs at its times in its zone, by default UTC.', () => {
  const weekdays = { cron: '0 9 * * 1-5', timeZone: 'Europe/Oslo' };
  expect(runs(weekdays, '2026-12-04T08:00:00Z', 2)).toEqual([
    '2026-12-07T08:00:00.000Z',
    '2026-12-08T08:00:00.000Z',
  ]);
  expect(runs({ cron: '@daily' }, '2026-12-04T08:00:00Z', 1)).toEqual(['2026-12-05T00:00:00.000Z']);
});

test('A fixed time that a clock leaves out comes after the gap, and one that it repeats comes once.', () => {
  const night = { cron: '30 2 * * *', timeZone: 'Europe/Oslo' };
  expect(runs(night, '2026-03-28T12:00Z', 2)).toEqual([
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  expect(runs(night, '2026-10-24T12:00Z', 2)).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
  ]);
});

test('Every so often means the multiples of a time since 1970, whenever the broker started.', () => {
  expect(runs({ everyMs: 900_000 }, '2026-12-04T08:07:00Z', 2)).toEqual([
    '2026-12-04T08:15:00.000Z',
    '2026-12-04T08:30:00.000Z',
  ]);
});

test.each([{ cron: '*/15 * * * *' }, { everyMs: 900_000 }])(
  'The last run up to a time counts one at that time: %o',
  (timetable) => {
    const { last } = timesOf(timetable);
    const quarter = at('2026-12-04T08:15:00Z');
    expect([quarter - 1, quarter, quarter + 1].map((time) => last(time))).toEqual([
      quarter - 900_000,
      quarter,
      quarter,
    ]);
  },
);

test.each<[Timetable, string, RegExp]>([
  [
    { cron: '61 9 * * *' },
    'cron',
    /'61 9 \* \* \*' is no cron expression of five fields .*Invalid value for minute: 61/,
  ],
  [{ cron: '0 9 * *' }, 'cron', /five fields/],
  [{ cron: '0 0 9 * * *' }, 'cron', /five fields/],
  [{ cron: '2026-12-01T09:00:00' }, 'cron', /five fields/],
  [{ cron: '0 9 31 2 *' }, 'cron', /never comes/],
  [
    { cron: '0 9 * * *', timeZone: 'Europe/Olso' },
    'timeZone',
    /'Europe\/Olso' is no time zone \(did you mean 'Europe\/Oslo'\?\)/,
  ],
  [{ everyMs: 999 }, 'everyMs', /at least 1s/],
  [{ everyMs: 60_000, timeZone: 'UTC' }, 'timeZone', /goes with cron only/],
  [{ everyMs: 60_000, cron: '0 9 * * *' }, 'everyMs', /leave one of them out/],
  [{}, 'cron', /must be there/],
])('%o is refused with its field.', (timetable, field, problem) => {
  expect(runTimes(timetable)).toEqual({ field, problem: expect.stringMatching(problem) });
});
