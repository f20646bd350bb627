import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { MessageReader } from '../log-structured/message-reader.ts';
import { inboxSchema } from './inbox-schema.ts';
import { forgetJournals, JournalTable } from './journal-table.ts';
import { MetaTable } from './meta-table.ts';

const messages = {
  stats: () => ({ pending: 1, bytes: 0, headSeq: 7 }),
  read: () => [{ seq: 7 }],
} as unknown as MessageReader;

test('in a restored store every inbox is foreign to every journal once, bound before or not', () => {
  const db = new Database(':memory:');
  db.exec(inboxSchema);
  const before = new JournalTable(db, new MetaTable(db));
  const bound = { foreignUpTo: 0, epoch: 'g1' };
  expect(before.bind('bound', { previous: [], next: 'g1' }, messages)).toEqual(bound);
  forgetJournals(db, 1_000);
  const restored = new JournalTable(db, new MetaTable(db));
  const foreign = (inbox: string, previous: string[], next: string) =>
    expect(restored.bind(inbox, { previous, next }, messages)).toEqual({ foreignUpTo: 7, epoch: next });
  foreign('bound', ['g1'], 'g2');
  foreign('never bound', [], 'g1');
  const later = { stats: () => ({ headSeq: 9 }), read: () => [{ seq: 8 }] } as unknown as MessageReader;
  const again = restored.bind('bound', { previous: ['g2'], next: 'g3' }, later);
  expect(again).toEqual({ foreignUpTo: 0, epoch: 'g2' });
});
