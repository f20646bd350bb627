import { expect, it } from 'vitest';
import { sharedFieldsOf, storedMessageOf } from '../../logged-message.ts';
import type { NewMessage } from '../../message.ts';
import { MemtableEntry } from './memtable-entry.ts';

const message: NewMessage = {
  inbox: 'inbox',
  id: 'a',
  sender: 'ann',
  senderAddress: 'ann#one',
  senderRole: 'worker',
  kind: 'note',
  createdAt: 1,
  expiresAt: 2,
  tokenId: 't',
};

it('shares fields between messages that have the same, and only those', () => {
  const shared = sharedFieldsOf(message, undefined);
  const alike = { ...message, id: 'b', correlationId: 'c', traceparent: 't', body: 'body' };
  expect(sharedFieldsOf(alike, shared)).toBe(shared);
  const changes: Partial<NewMessage>[] = [
    { inbox: 'other' },
    { sender: 'bob' },
    { senderAddress: 'ann' },
    { senderRole: 'boss' },
    { kind: 'task' },
    { createdAt: 3 },
    { expiresAt: 3 },
    { tokenId: undefined },
    { openUntil: 3 },
  ];
  for (const change of changes) {
    expect({ id: 'a', ...sharedFieldsOf({ ...message, ...change }, shared) }).toEqual({
      ...message,
      ...change,
      isCounted: false,
    });
  }
  expect(sharedFieldsOf(message, shared, true)).toEqual({ ...shared, isCounted: true });
});

it('gives all fields of a message but those that are not for its reader, and changes nothing', () => {
  const sent = Object.freeze({ ...message, body: 'body', settles: { inbox: 'x', seq: 1 } });
  const entry = new MemtableEntry(7, sharedFieldsOf(sent, undefined), sent, 4, sent.body);
  const { tokenId, ...given } = message;
  expect(storedMessageOf(entry)).toEqual({ ...given, seq: 7, attempts: 0, size: 4, body: 'body' });
  expect(storedMessageOf(entry)).not.toHaveProperty('tokenId');
});
