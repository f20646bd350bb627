import type { Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { CheckedOutMessages, hasExpiredUnread } from './checked-out-messages.ts';

const message = (id: string, more: Partial<Message> = {}): Message => ({
  id,
  from: { agent: 'rosa', address: 'rosa#x', role: 'worker' },
  to: 'walt',
  kind: 'ask',
  created_at: 0,
  ...more,
});
const take = (held: CheckedOutMessages, seq: number, more: Partial<Message> = {}) =>
  held.add({ seq, message: message(`m${seq}`, more), json: 'x', receivedAt: 100 });
const seqs = (messages: { seq: number }[]) => messages.map(({ seq }) => seq);

test('what came before a reconnect waits for being pushed again, keeps its marks, and goes if it was settled elsewhere', () => {
  const held = new CheckedOutMessages();
  take(held, 1).shownBy = 3;
  take(held, 2).shownBy = 3;
  take(held, 3).isDone = true;
  expect(seqs(held.waiting())).toEqual([1, 2]);
  held.leaseEnded();
  expect(seqs(held.waiting())).toEqual([]);
  expect(take(held, 2, { attempt: 2 })).toMatchObject({
    shownBy: 3,
    isLive: true,
    message: { attempt: 2 },
  });
  expect(take(held, 3)).toMatchObject({ isDone: true });
  take(held, 4);
  expect(seqs(held.waiting())).toEqual([2, 4]);
  expect(held.withId('m1')).toEqual([]);
  expect(seqs(held.withId('m2', 'rosa'))).toEqual([2]);
  expect(held.withId('m2', 'walt')).toEqual([]);
});

test('a cursor covers what reads up to it returned first, and nothing else', () => {
  const held = new CheckedOutMessages();
  for (const [seq, read] of [
    [1, 1],
    [2, 2],
    [3, 3],
  ] as const) {
    take(held, seq).shownBy = read;
  }
  take(held, 4);
  expect(seqs(held.shownUpTo(2))).toEqual([1, 2]);
  held.remove([1, 2]);
  expect(seqs(held.shownUpTo(9))).toEqual([3]);
});

test('only a request that was never shown is over when its time is', () => {
  const held = new CheckedOutMessages();
  const ask = take(held, 1, { remaining_ms: 50 });
  expect([hasExpiredUnread(ask, 149), hasExpiredUnread(ask, 150)]).toEqual([false, true]);
  expect(hasExpiredUnread(take(held, 2, { remaining_ms: 50, kind: 'note' }), 150)).toBe(false);
  expect(hasExpiredUnread(take(held, 3), 1e9)).toBe(false);
  ask.shownBy = 1;
  expect(hasExpiredUnread(ask, 150)).toBe(false);
});
