import type { Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { checkoutMs, GroupCheckouts } from './group-checkouts.ts';

const message = (id: string): Message => ({
  id,
  from: { agent: 'rosa', address: 'rosa#x', role: 'worker' },
  to: 'role:writer',
  kind: 'task',
  created_at: 0,
});
const take = (checkouts: GroupCheckouts, seq: number, receivedAt = 100) =>
  checkouts.add({ seq, message: message(`m${seq}`), json: 'x', receivedAt });
const show = (checkouts: GroupCheckouts, seq: number, { read, now }: { read: number; now: number }) => {
  const checkout = checkouts.live(now).find((one) => one.seq === seq)!;
  checkout.shownBy ??= read;
  checkout.shownAt = now;
  return checkout;
};
const seqs = (list: { seq: number }[]) => list.map(({ seq }) => seq);

test('a message is held for ten minutes from the last read that returned it, and its loss is told once', () => {
  const checkouts = new GroupCheckouts();
  take(checkouts, 1);
  take(checkouts, 2);
  show(checkouts, 1, { read: 1, now: 100 });
  show(checkouts, 2, { read: 1, now: 100 });
  show(checkouts, 2, { read: 2, now: 50_000 });
  expect(seqs(checkouts.live(checkoutMs + 99))).toEqual([1, 2]);
  expect(checkouts.takeLost()).toEqual([]);
  expect(seqs(checkouts.live(checkoutMs + 100))).toEqual([2]);
  expect(checkouts.takeLost()).toEqual(['m1']);
  expect(checkouts.takeLost()).toEqual([]);
  expect(seqs(checkouts.live(checkoutMs + 50_000))).toEqual([]);
  // A late reply or ack still finds them.
  expect(seqs(checkouts.withId('m1', 'rosa'))).toEqual([1]);
  expect(seqs(checkouts.shownUpTo(1))).toEqual([1, 2]);
  expect(checkouts.has(1)).toBe(false);
});

test('a message that comes again is new to the agent and keeps its marks; one that no read returned is forgotten when it is lost', () => {
  const checkouts = new GroupCheckouts();
  take(checkouts, 1);
  take(checkouts, 2);
  expect(seqs(checkouts.fresh(100))).toEqual([1, 2]);
  show(checkouts, 1, { read: 7, now: 200 });
  expect(seqs(checkouts.fresh(200))).toEqual([2]);
  checkouts.loseAll();
  expect(checkouts.takeLost()).toEqual(['m1']);
  expect(checkouts.withId('m2')).toEqual([]);
  expect(take(checkouts, 1, 300)).toMatchObject({ shownBy: 7, shownAt: 200, isLive: true });
  expect(seqs(checkouts.fresh(300))).toEqual([1]);
});

test('of the messages that were lost only the newest hundred are remembered', () => {
  const checkouts = new GroupCheckouts();
  for (let seq = 1; seq <= 150; seq++) {
    take(checkouts, seq);
    show(checkouts, seq, { read: seq, now: 100 });
    checkouts.loseAll();
  }
  expect(checkouts.shownUpTo(150)).toHaveLength(100);
  expect(checkouts.withId('m50')).toEqual([]);
  expect(checkouts.withId('m51')).toHaveLength(1);
});
