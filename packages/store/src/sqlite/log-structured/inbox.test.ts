import { expect, it } from 'vitest';
import { sharedFieldsOf } from '../../logged-message.ts';
import type { NewMessage } from '../../message.ts';
import { AgentUsage } from './agent-usage.ts';
import { Inbox } from './inbox.ts';
import { MemtableEntry } from './memtable-entry.ts';

const message: NewMessage = {
  inbox: 'inbox',
  id: 'a',
  sender: 'ann',
  senderAddress: 'ann',
  senderRole: 'worker',
  kind: 'note',
  createdAt: 1,
  expiresAt: 2,
};

it('finds messages of one id by their senders, the newest first, in any order of their removal', () => {
  const orders = [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [1, 3, 0, 2],
    [2, 0, 3, 1],
  ];
  for (const order of orders) {
    const inbox = new Inbox('inbox', { messages: 0, bytes: 0 }, new AgentUsage());
    const senders = ['ann', 'bob', 'ann', 'constructor'];
    const all = senders.map((sender, seq) => entryOf(seq, sender, 0));
    for (const entry of all) inbox.add(entry);
    const left = new Set(all);
    for (const gone of order) {
      for (const sender of senders)
        expect(inbox.find('a', sender)).toBe([...left].findLast((one) => one.shared.sender === sender));
      inbox.remove(all[gone]!);
      left.delete(all[gone]!);
    }
    expect(inbox.find('a', 'ann')).toBeUndefined();
    expect(inbox.pendingEntries.size).toBe(0);
    expect(inbox.hasEntries).toBe(false);
  }
});

it('counts what is pending, in segments and in the memtable, for its agent and of each sender', () => {
  const usage = new AgentUsage();
  const inbox = new Inbox('bob#x', { messages: 2, bytes: 20 }, usage);
  usage.countPending('bob', { sender: 'ann', isCounted: true }, 2, 20);
  const entry = entryOf(3, '__proto__', 7);
  inbox.add(entry);
  inbox.count(entry.shared, 7);
  expect(inbox).toMatchObject({ messages: 3, bytes: 27, hasEntries: true });
  expect(usage.received('bob')).toEqual({ messages: 3, bytes: 27 });
  expect(usage.sentTo('__proto__', 'bob')).toEqual({ messages: 1, bytes: 7 });
  expect(usage.sent('ann')).toMatchObject({ messages: 2, bytes: 20 });
  expect(usage.sent('eve')).toBeUndefined();
  inbox.settle(entry);
  for (const seq of [1, 2]) inbox.settle(entryOf(seq, 'ann', 10));
  expect(inbox).toMatchObject({ messages: 0, bytes: 0, hasEntries: true });
  expect(inbox.find('a', '__proto__')).toBe(entry);
  usage.countDead('bob', { sender: 'ann', isCounted: true }, 1, 5);
  usage.countPending('bob', { sender: 'broker', isCounted: false }, 1, 5);
  usage.forgetIdle();
  expect(usage.sent('__proto__')).toBeUndefined();
  expect(usage.sent('broker')).toBeUndefined();
  expect(usage.sent('ann')).toMatchObject({ messages: 1, bytes: 5 });
  expect(usage.sentTo('ann', 'bob')).toBeUndefined();
  expect(usage.received('bob')).toEqual({ messages: 2, bytes: 10 });
});

function entryOf(seq: number, sender: string, size: number): MemtableEntry {
  const sent = { ...message, sender };
  return new MemtableEntry(seq, sharedFieldsOf(sent, undefined, true), sent, size, sent.body);
}

it('finds an added message although its id was looked for before it was there, and not after it is gone', () => {
  const inbox = new Inbox('inbox', { messages: 0, bytes: 0 }, new AgentUsage());
  expect(inbox.find('a', 'ann')).toBeUndefined();
  const [first, second] = [entryOf(0, 'ann', 0), entryOf(1, 'bob', 0)];
  inbox.add(first);
  expect([inbox.find('a', 'ann'), inbox.find('a', 'bob')]).toEqual([first, undefined]);
  inbox.add(second);
  expect([inbox.find('a', 'ann'), inbox.find('a', 'bob')]).toEqual([first, second]);
  inbox.remove(second);
  expect([inbox.find('a', 'ann'), inbox.find('a', 'bob')]).toEqual([first, undefined]);
  inbox.remove(first);
  expect(inbox.find('a', 'ann')).toBeUndefined();
});
