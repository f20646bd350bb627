import type { Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { WaitingQuestions } from './waiting-questions.ts';

test('The inbox is looked at only while an answer is waited for, at most once a second for all waits together.', async () => {
  const inbox: Message[] = [message(3, 'task'), message(5, 'ask'), message(8, 'note')];
  const peeks: number[] = [];
  const client = {
    agent: 'rosa',
    peek: async ({ after = 0 } = {}) => {
      peeks.push(after);
      return inbox.filter(({ seq }) => seq! > after);
    },
  };
  let now = 0;
  const questions = new WaitingQuestions(client, {
    isWanted: () => true,
    read: () => [],
    othersAfterMs: 1_000,
    now: () => now,
    log: () => {},
  });
  questions.watch({ id: 'over', to: 'walt' })[Symbol.dispose]();
  using first = questions.watch({ id: 'one', to: 'nemo' });
  // A question of an agent that was not asked does not end the wait at once. Its page is followed by an empty one.
  await expect.poll(() => peeks).toEqual([0, 8]);
  now = 900;
  using second = questions.watch({ id: 'two', to: 'paul' });
  now = 1_000;
  // The calls of one turn are all told.
  const told = [{ seq: 5, id: 'm5', from: 'walt' }];
  expect(await Promise.all([first.found, second.found])).toEqual([told, told]);
  expect(peeks).toEqual([0, 8, 0, 8]);
});

function message(seq: number, kind: string): Message {
  const from = { agent: 'walt', address: 'walt', role: 'worker' };
  return { id: `m${seq}`, seq, from, to: 'rosa', kind, created_at: 0 };
}
