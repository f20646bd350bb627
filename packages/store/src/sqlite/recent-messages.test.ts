import { expect, it } from 'vitest';
import type { NewMessage } from '../inbox-store.ts';
import { Inbox } from './inbox.ts';
import { originOf, RecentMessage } from './recent-message.ts';
import { RecentMessages } from './recent-messages.ts';

const sent: NewMessage = {
  inbox: 'inbox',
  id: 'a',
  sender: 'ann',
  senderAddress: 'ann',
  senderRole: 'worker',
  kind: 'note',
  createdAt: 1,
  expiresAt: 2,
  body: 'body',
};

it('takes out whole records, and keeps nothing of those whose messages all left before', () => {
  const recents = new RecentMessages();
  const inbox = new Inbox('inbox', []);
  const all = [1, 1, 2, 3, 3].map((record, seq) => {
    const recent = new RecentMessage(seq, originOf(inbox, sent, undefined), sent, 4);
    recents.add(recent, record, 10 * record);
    return recent;
  });
  for (const left of all.slice(0, 3)) recents.remove(left);
  expect(all.map(({ body }) => body)).toEqual([undefined, undefined, undefined, 'body', 'body']);
  expect([...recents.all()]).toEqual(all.slice(3));
  expect([recents.size, recents.recorded, recents.since]).toEqual([2, 8, 10]);
  expect(recents.takeOldest(0)).toEqual({ messages: [], upTo: undefined });
  expect(recents.takeOldest(recents.countSince(20))).toEqual({ messages: [], upTo: 2 });
  expect(recents.since).toBe(30);
  expect(recents.takeOldest(1)).toEqual({ messages: all.slice(3), upTo: 3 });
  expect([recents.size, recents.recorded, recents.since]).toEqual([0, 0, undefined]);
  expect(inbox.find('a', 'ann')).toBeUndefined();
});
