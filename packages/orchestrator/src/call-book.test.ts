import { expect, test } from 'vitest';
import { CallBook } from './call-book.ts';

const call = { agent: 'rosa', requestId: 'r1', role: 'worker', tool: 'mcp_counter__count' };
const started = { ...call, server: 'counter', receivedAt: 100, startedAt: 150, expiresAt: 9_000 };

test('a call that another process started keeps the times of that start, whatever is answered now', () => {
  const book = new CallBook(() => 5_000);
  book.open(call, started).ended('outcome_unknown', '{}');
  expect(book.recent()).toMatchObject([
    { received_at: 100, started_at: 150, finished_at: 5_000, server: 'counter', outcome: 'outcome_unknown' },
  ]);
});

test('a call of this process has the times of this process', () => {
  let now = 200;
  const book = new CallBook(() => now);
  const open = book.open(call);
  expect(book.underWay()).toMatchObject([{ state: 'queued', received_at: 200 }]);
  now = 300;
  open.running('counter');
  expect(book.underWay()).toMatchObject([{ state: 'running', received_at: 200, started_at: 300 }]);
});
