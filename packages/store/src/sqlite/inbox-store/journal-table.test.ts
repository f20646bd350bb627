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
  expect(before.bind('bound', { previous: [], next: 'g1' }, messages)).toBe(0);
  forgetJournals(db, 1_000);
  const restored = new JournalTable(db, new MetaTable(db));
  expect(restored.bind('bound', { previous: ['g1'], next: 'g2' }, messages)).toBe(7);
  expect(restored.bind('never bound', { previous: [], next: 'g1' }, messages)).toBe(7);
  const later = { stats: () => ({ headSeq: 9 }), read: () => [{ seq: 8 }] } as unknown as MessageReader;
  expect(restored.bind('bound', { previous: ['g2'], next: 'g3' }, later)).toBe(0);
});
