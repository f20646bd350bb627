import { expect, test } from 'vitest';
import { AnnouncementPace } from './announcement-pace.ts';

/** Has a server change every `everyMs` and returns the times of its announcements. */
function announcements(everyMs: number, untilMs: number): number[] {
  const pace = new AnnouncementPace();
  const times: number[] = [];
  for (let now = 0; now <= untilMs; now += everyMs) {
    pace.changed(['a'], now);
    if (pace.waitMs(['a'], now) > 0) continue;
    pace.announced(['a'], now);
    times.push(now);
  }
  return times;
}

test('a list that changes each second is announced three times at once, and then once a minute', () => {
  expect(announcements(1_000, 200_000)).toEqual([0, 1_000, 2_000, 62_000, 122_000, 182_000]);
});

test('a list that changes once a minute or less often is announced each time, at once', () => {
  expect(announcements(60_000, 600_000)).toHaveLength(11);
});

test('a list that keeps changing does not delay the announcements of another', () => {
  const pace = new AnnouncementPace();
  for (const now of [0, 1, 2]) {
    pace.changed(['a'], now);
    pace.announced(['a'], now);
  }
  pace.changed(['a', 'b'], 3);
  expect([pace.waitMs(['a'], 3), pace.waitMs(['b'], 3), pace.waitMs(['a', 'b'], 3)]).toEqual([59_999, 0, 0]);
});
