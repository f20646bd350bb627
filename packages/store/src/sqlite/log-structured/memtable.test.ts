import { expect, it } from 'vitest';
import { sharedFieldsOf } from '../../logged-message.ts';
import type { NewMessage } from '../../message.ts';
import { AgentUsage } from './agent-usage.ts';
import { Memtable } from './memtable.ts';
import { MemtableEntry } from './memtable-entry.ts';

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

it('removes the entries of whole commits, the oldest first, and keeps nothing of them', () => {
  let now = 0;
  const memtable = new Memtable(
    () => ({ messages: 0, bytes: 0 }),
    () => now,
    new AgentUsage(),
  );
  const inbox = memtable.inbox('inbox');
  const entries = [1, 1, 2, 3, 3].map((commit, seq) => {
    const entry = new MemtableEntry(seq, sharedFieldsOf(sent, undefined), sent, 4, sent.body);
    now = 10 * commit;
    memtable.add(inbox, entry, commit);
    inbox.count(entry.shared, 4);
    return entry;
  });
  memtable.settle(entries[0]!, { at: 5, outcome: 'acked', reason: null });
  expect(entries.map(({ body }) => body)).toEqual([undefined, 'body', 'body', 'body', 'body']);
  expect([...memtable.entries()]).toEqual(entries);
  expect([memtable.size, memtable.loggedBytes, memtable.oldestAt]).toEqual([5, 20, 10]);
  expect(memtable.takeOldest(0)).toEqual({ entries: [], upTo: undefined });
  expect(memtable.takeOldest(memtable.countPutBy(20))).toEqual({ entries: entries.slice(0, 3), upTo: 2 });
  expect([memtable.size, memtable.loggedBytes, memtable.oldestAt]).toEqual([2, 8, 30]);
  expect([...memtable.pendingIn('inbox')]).toEqual(entries.slice(3));
  expect(memtable.takeOldest(1)).toEqual({ entries: entries.slice(3), upTo: 3 });
  expect([memtable.size, memtable.loggedBytes, memtable.oldestAt]).toEqual([0, 0, undefined]);
  expect(inbox.find('a', 'ann')).toBeUndefined();
  // They are pending in segments.
  expect(inbox).toMatchObject({ messages: 4, bytes: 16 });
});

it('removes the entries of no more commits than have pending entries of so many inboxes', () => {
  const memtable = new Memtable(
    () => ({ messages: 0, bytes: 0 }),
    () => 0,
    new AgentUsage(),
  );
  const inboxes = ['settled', 'a', 'a', 'b', 'c'];
  const entries = inboxes.map((name, commit) => {
    const shared = sharedFieldsOf({ ...sent, inbox: name }, undefined);
    const entry = new MemtableEntry(commit, shared, sent, 4, sent.body);
    memtable.add(memtable.inbox(name), entry, commit);
    memtable.inbox(name).count(shared, 4);
    return entry;
  });
  memtable.settle(entries[0]!, { at: 5, outcome: 'acked', reason: null });
  expect(memtable.takeOldest(5, 2)).toEqual({ entries: entries.slice(0, 4), upTo: 3 });
  expect(memtable.takeOldest(5, 2)).toEqual({ entries: entries.slice(4), upTo: 4 });
});
