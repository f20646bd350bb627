import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { inboxSchema } from '../inbox-store/inbox-schema.ts';
import { type PendingRange, PendingRanges } from './pending-ranges.ts';

/** Opens ranges on an empty database, and a function that reads their stored form. */
function opened(): { ranges: PendingRanges; stored: () => PendingRange[] } {
  const db = new Database(':memory:');
  db.exec(inboxSchema);
  const ranges = new PendingRanges(db);
  return { ranges, stored: () => new PendingRanges(db).check().ranges };
}

function rangeOf(inbox: string, first: number, last: number): PendingRange {
  return { inbox, first, last, segment: first, messages: last - first + 1 };
}

function settleFirst(ranges: PendingRanges, inbox: string): void {
  const range = ranges.next(inbox, 0)!;
  const rest = { first: range.first + 1, messages: range.messages - 1 };
  ranges.cut(range, undefined, rest.messages === 0 ? undefined : rest);
}

it('writes how far each of many inboxes was settled, although they are settled in turn', () => {
  const { ranges, stored } = opened();
  const inboxes = Array.from({ length: 20 }, (_, n) => `inbox-${n}`);
  for (const inbox of inboxes) {
    ranges.add(rangeOf(inbox, 1, 5));
    ranges.add(rangeOf(inbox, 6, 9));
  }
  for (let settled = 1; settled <= 7; settled++) for (const inbox of inboxes) settleFirst(ranges, inbox);
  ranges.save();
  const rest = inboxes.map((inbox) => expect.objectContaining({ inbox, first: 8, last: 9, messages: 2 }));
  expect(stored()).toEqual(expect.arrayContaining(rest));
  expect(stored()).toHaveLength(inboxes.length);
});

it('finds a range that is added behind the end of all others, after it was asked what is there', () => {
  const { ranges } = opened();
  expect(ranges.next('inbox', 0)).toBeUndefined();
  ranges.add(rangeOf('inbox', 3, 5));
  expect(ranges.next('inbox', 0)).toMatchObject({ first: 3 });
  expect(ranges.next('inbox', 5)).toBeUndefined();
  ranges.add(rangeOf('inbox', 8, 9));
  expect(ranges.next('inbox', 5)).toMatchObject({ first: 8 });
  expect(ranges.next('inbox', 9)).toBeUndefined();
  expect(ranges.holding('inbox', 9)).toMatchObject({ first: 8 });
  expect(ranges.holding('inbox', 7)).toBeUndefined();
});
