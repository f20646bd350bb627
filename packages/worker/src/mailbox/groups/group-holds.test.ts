import type { Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { GroupHolds, holdMs } from './group-holds.ts';

const message = (id: string): Message => ({
  id,
  from: { agent: 'rosa', address: 'rosa#x', role: 'worker' },
  to: 'role:writer',
  kind: 'task',
  created_at: 0,
});
const take = (holds: GroupHolds, seq: number, receivedAt = 100) =>
  holds.add({ seq, message: message(`m${seq}`), json: 'x', receivedAt });
const offer = (holds: GroupHolds, seq: number, { read, now }: { read: number; now: number }) => {
  const hold = holds.live(now).find((one) => one.seq === seq)!;
  hold.offeredBy ??= read;
  hold.offeredAt = now;
  return hold;
};
const seqs = (held: { seq: number }[]) => held.map(({ seq }) => seq);

test('a message is held for ten minutes from the last read that returned it, and its loss is told once', () => {
  const holds = new GroupHolds();
  take(holds, 1);
  take(holds, 2);
  offer(holds, 1, { read: 1, now: 100 });
  offer(holds, 2, { read: 1, now: 100 });
  offer(holds, 2, { read: 2, now: 50_000 });
  expect(seqs(holds.live(holdMs + 99))).toEqual([1, 2]);
  expect(holds.takeLost()).toEqual([]);
  expect(seqs(holds.live(holdMs + 100))).toEqual([2]);
  expect(holds.takeLost()).toEqual(['m1']);
  expect(holds.takeLost()).toEqual([]);
  expect(seqs(holds.live(holdMs + 50_000))).toEqual([]);
  // A late reply or ack still finds them.
  expect(seqs(holds.withId('m1', 'rosa'))).toEqual([1]);
  expect(seqs(holds.offeredUpTo(1))).toEqual([1, 2]);
  expect(holds.has(1)).toBe(false);
});

test('a message that comes again is new to the agent and keeps its marks; one that no read returned is forgotten when it is lost', () => {
  const holds = new GroupHolds();
  take(holds, 1);
  take(holds, 2);
  expect(seqs(holds.fresh(100))).toEqual([1, 2]);
  offer(holds, 1, { read: 7, now: 200 });
  expect(seqs(holds.fresh(200))).toEqual([2]);
  holds.loseAll();
  expect(holds.takeLost()).toEqual(['m1']);
  expect(holds.withId('m2')).toEqual([]);
  expect(take(holds, 1, 300)).toMatchObject({ offeredBy: 7, offeredAt: 200, isLive: true });
  expect(seqs(holds.fresh(300))).toEqual([1]);
});

test('of the messages that were lost only the newest hundred are remembered', () => {
  const holds = new GroupHolds();
  for (let seq = 1; seq <= 150; seq++) {
    take(holds, seq);
    offer(holds, seq, { read: seq, now: 100 });
    holds.loseAll();
  }
  expect(holds.offeredUpTo(150)).toHaveLength(100);
  expect(holds.withId('m50')).toEqual([]);
  expect(holds.withId('m51')).toHaveLength(1);
});
