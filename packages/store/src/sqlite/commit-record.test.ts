import { expect, it } from 'vitest';
import type { NewMessage } from '../inbox-store.ts';
import { CommitRecord } from './commit-record.ts';
import { Inbox } from './inbox.ts';
import { type Origin, originOf, RecentMessage } from './recent-message.ts';
import { type RecordText, readRecord } from './record-entry.ts';
import type { Ending } from './settled-message.ts';

const hostile = '"]\\,\u0000\n{}\ud800 😀 __proto__';
const plain: NewMessage = {
  inbox: 'inbox',
  id: 'a',
  sender: 'ann',
  senderAddress: 'ann#one',
  senderRole: 'worker',
  kind: 'note',
  createdAt: 1_800_000_000_000,
  expiresAt: 1_800_000_300_000,
};
const texts = ['inbox', 'id', 'sender', 'senderAddress', 'senderRole', 'kind'] as const;
const optional = ['correlationId', 'traceparent', 'tokenId', 'body'] as const;
const changes: Partial<NewMessage>[] = [
  {},
  { body: 'body' },
  ...[...texts, ...optional].map((field) => ({ [field]: hostile })),
  ...optional.map((field) => ({ [field]: '' })),
  { correlationId: 'c', traceparent: 't', tokenId: 'k', body: '漢字' },
  { createdAt: 0, expiresAt: 2 ** 53 },
];

it('tells what happened, in order, whatever messages have in common', () => {
  const record = new CommitRecord();
  const told: unknown[] = [];
  const inboxes = new Map([plain.inbox, hostile].map((name) => [name, new Inbox(name, [])]));
  const all = changes.flatMap((one) => changes.flatMap((other) => [one, one, other]));
  let origin: Origin | undefined;
  let ending: Ending = { at: 0, outcome: 'acked', reason: null };
  for (const [seq, change] of all.entries()) {
    const message = { ...plain, ...change };
    origin = originOf(inboxes.get(message.inbox)!, message, origin);
    const recent = new RecentMessage(seq, origin, message, 2 * seq);
    record.added(recent);
    told.push(['added', seq, message, 2 * seq]);
    recent.attempts = seq;
    if (seq % 5 === 0) ending = { at: seq, outcome: 'dead', reason: seq % 10 === 0 ? hostile : null };
    if (seq % 3 === 0) {
      record.ended(recent, ending);
      told.push(['ended', recent.inbox, seq, ending]);
    }
    if (seq % 4 === 0) {
      record.tried(recent);
      told.push(['tried', recent.inbox, seq, seq]);
    }
  }
  expect(record.isEmpty).toBe(false);
  expect(readAll(record.take())).toEqual(told);
  expect(record.isEmpty).toBe(true);
});

it('writes what messages have in common once in each record', () => {
  const record = new CommitRecord();
  const origin = originOf(new Inbox(plain.inbox, []), plain, undefined);
  const lengths = [0, 1].map(() => {
    for (let seq = 0; seq < 100; seq++) record.added(new RecentMessage(seq, origin, plain, 0));
    return record.take().entries.length;
  });
  expect(lengths[0]).toBeLessThan(100 * '[99,0,null,"a"],'.length + 200);
  expect(lengths[1]).toBe(lengths[0]);
});

function readAll(text: RecordText): unknown[] {
  const told: unknown[] = [];
  readRecord(text, {
    added: (...what) => told.push(['added', ...what]),
    ended: (...what) => told.push(['ended', ...what]),
    tried: (...what) => told.push(['tried', ...what]),
  });
  return told;
}
