import { expect, test } from 'vitest';
import { runTimes } from './run-times.ts';

/** One change of a clock: the minute at which it happens, and its distance to UTC before and after, in minutes. */
interface Change {
  at: number;
  before: number;
  after: number;
  timeZone: string;
}

const minute = 60_000;
/** No zone changes twice in this time, in minutes. */
const tenDays = 14_400;

/** The changes of all zones in two years, each kind once. */
function changesOfAllZones(): Change[] {
  const [from, to] = [Date.parse('2026-01-01T00:00Z') / minute, Date.parse('2028-01-01T00:00Z') / minute];
  const found = new Map<string, Change>();
  for (const timeZone of Intl.supportedValuesOf('timeZone')) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    const offsetAt = (time: number): number => {
      const name =
        format.formatToParts(time * minute).find(({ type }) => type === 'timeZoneName')?.value ?? '';
      const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? [];
      return sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
    };
    for (let low = from; low < to; low += tenDays) {
      const [before, after] = [offsetAt(low), offsetAt(low + tenDays)];
      if (before === after) continue;
      let [a, b] = [low, low + tenDays];
      while (b - a > 1) {
        const middle = Math.floor((a + b) / 2);
        if (offsetAt(middle) === before) a = middle;
        else b = middle;
      }
      found.set(`${b} ${before} ${after}`, { at: b, before, after, timeZone });
    }
  }
  return [...found.values()];
}

/** The runs of minutes and hours in the hours around a change, found by a walk over all minutes. */
function walk(
  change: Change,
  isFixed: boolean,
  hours: readonly number[],
  minutes: readonly number[],
): number[] {
  const matches = (wall: number): boolean =>
    hours.includes(Math.floor(wall / 60) % 24) && minutes.includes(wall % 60);
  const runs = new Set<number>();
  const seen = new Set<number>();
  for (let time = change.at - 600; time <= change.at + 480; time++) {
    const wall = time + (time < change.at ? change.before : change.after);
    // The library loses a run in a gap that ends at midnight, as that of America/Scoresbysund does: findings/cron-gap-until-midnight.sh.
    if (time === change.at && isFixed && wall % 1440 !== 0) {
      for (let left = time + change.before; left < wall; left++) if (matches(left)) runs.add(time);
    }
    if (matches(wall) && !(isFixed && seen.has(wall))) runs.add(time);
    seen.add(wall);
  }
  return [...runs];
}

test('At each change of a clock in all zones, a fixed time runs once, and an interval as often as it comes.', () => {
  const list = (from: number, to: number, step = 1): number[] =>
    Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
  const all = list(0, 23);
  const expressions: [cron: string, isFixed: boolean, hours: number[], minutes: number[]][] = [
    ['0 2,14 * * *', true, [2, 14], [0]],
    ['0 0,12 * * *', true, [0, 12], [0]],
    ['0,30 2 * * *', true, [2], [0, 30]],
    ['30 23 * * *', true, [23], [30]],
    ['15 0-5 * * *', true, list(0, 5), [15]],
    ['5 0-23/3 * * *', true, list(0, 23, 3), [5]],
    ['*/20 2 * * *', false, [2], [0, 20, 40]],
    ['30 * * * *', false, all, [30]],
    ['30 */2 * * *', false, list(0, 23, 2), [30]],
  ];
  const changes = changesOfAllZones();
  expect(changes.length).toBeGreaterThan(50);
  for (const change of changes) {
    for (const [cron, isFixed, hours, minutes] of expressions) {
      const runsOf = runTimes({ cron, timeZone: change.timeZone });
      if ('problem' in runsOf) throw new Error(runsOf.problem);
      const { next, last } = runsOf;
      const [from, to] = [(change.at - 480) * minute, (change.at + 480) * minute];
      const expected = walk(change, isFixed, hours, minutes)
        .map((time) => time * minute)
        .filter((time) => time > from && time <= to);
      const found: number[] = [];
      for (let time = next(from); time !== undefined && time <= to; time = next(time)) found.push(time);
      const texts = (times: readonly number[]): string[] => times.map((time) => new Date(time).toISOString());
      const name = `${cron} in ${change.timeZone}`;
      expect(texts(found), name).toEqual(texts(expected));
      const back: number[] = [];
      for (let time = last(to); time !== undefined && time > from; time = last(time - 1)) back.unshift(time);
      expect(texts(back), `${name}, backwards`).toEqual(texts(expected));
    }
  }
});
