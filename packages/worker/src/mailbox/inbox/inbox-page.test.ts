import { expect, test } from 'vitest';
import type { CheckedOutMessage } from './checked-out-messages.ts';
import { inboxMessage } from './inbox-message.ts';
import { pageOf } from './inbox-page.ts';

const held = (seq: number, body: string): CheckedOutMessage => ({
  seq,
  message: {
    id: `m${seq}`,
    seq,
    from: { agent: 'a', address: 'a#x', role: 'r' },
    to: 'b',
    kind: 'ask',
    created_at: 5_000,
    remaining_ms: 10_000,
    body,
  },
  json: JSON.parse(body),
  traceparent: undefined,
  receivedAt: 100,
  shownBy: undefined,
  shownAt: undefined,
  isLive: true,
  isDone: false,
});
const seqs = (bodies: string[], limits: { messages: number; bytes: number }) =>
  pageOf(
    bodies.map((body, at) => held(at, body)),
    limits,
  ).map(({ seq }) => seq);

test('a page ends at its count or its bytes, and a message too large for any page comes alone', () => {
  const small = '"aaaaaaaa"';
  const huge = JSON.stringify('é'.repeat(50));
  expect(seqs([small, small, small], { messages: 2, bytes: 1000 })).toEqual([0, 1]);
  expect(seqs([small, small, small], { messages: 9, bytes: 20 })).toEqual([0, 1]);
  expect(seqs([small, small, small], { messages: 9, bytes: 30 })).toEqual([0, 1, 2]);
  expect(seqs([huge, small], { messages: 9, bytes: 30 })).toEqual([0]);
  expect(seqs([small, huge], { messages: 9, bytes: 30 })).toEqual([0]);
  expect(seqs([], { messages: 9, bytes: 30 })).toEqual([]);
});

test('what is left of a lifetime is counted by our own clock, and an age is never negative', () => {
  const one = held(1, '"x"');
  expect(inboxMessage(one, 4_100, 7_400)).toMatchObject({
    age_seconds: 2,
    expires_in_seconds: 6,
    attempt: 1,
  });
  expect(inboxMessage(one, 60_100, 0)).toMatchObject({ age_seconds: 0, expires_in_seconds: 0 });
});
