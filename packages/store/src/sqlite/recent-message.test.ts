import { expect, it } from 'vitest';
import type { NewMessage } from '../inbox-store.ts';
import { Inbox } from './inbox.ts';
import { originOf, RecentMessage, storedOf } from './recent-message.ts';

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

it('shares an origin between messages that have it in common, and only those', () => {
  const inbox = new Inbox('inbox', []);
  const origin = originOf(inbox, message, undefined);
  const alike = { ...message, id: 'b', correlationId: 'c', traceparent: 't', body: 'body' };
  expect(originOf(inbox, alike, origin)).toBe(origin);
  const changes: Partial<NewMessage>[] = [
    { sender: 'bob' },
    { senderAddress: 'ann' },
    { senderRole: 'boss' },
    { kind: 'task' },
    { createdAt: 3 },
    { expiresAt: 3 },
    { tokenId: undefined },
  ];
  for (const change of changes) {
    const other = originOf(inbox, { ...message, ...change }, origin);
    const { home, ...fields } = other;
    expect({ inbox: home.name, id: 'a', ...fields }).toEqual({ ...message, ...change });
  }
  expect(originOf(new Inbox('inbox', []), message, origin)).not.toBe(origin);
});

it('tells all of a message but what is not for its reader, without touching what it was made of', () => {
  const sent = Object.freeze({ ...message, body: 'body', settles: { inbox: 'x', seq: 1 } });
  const recent = new RecentMessage(7, originOf(new Inbox('inbox', []), sent, undefined), sent, 4);
  const { tokenId, ...told } = message;
  expect(storedOf(recent)).toEqual({ ...told, seq: 7, attempts: 0, size: 4, body: 'body' });
  expect(storedOf(recent)).not.toHaveProperty('tokenId');
});
