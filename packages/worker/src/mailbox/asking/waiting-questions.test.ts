import type { Message } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { WaitingQuestions } from './waiting-questions.ts';

/** The waits of an agent with these messages in its inbox, and a clock that the test moves. */
function startWaits(inbox: readonly Message[]) {
  let now = 0;
  const timers = new Map<() => void, number>();
  const peeks: number[] = [];
  const questions = new WaitingQuestions(
    {
      agent: 'rosa',
      peek: async ({ after = 0 } = {}) => {
        peeks.push(after);
        return inbox.filter(({ seq }) => seq! > after);
      },
    },
    {
      isWanted: () => true,
      read: () => [],
      othersAfterMs: 1_000,
      now: () => now,
      startTimer: (run, delayMs) => {
        timers.set(run, now + delayMs);
        return () => timers.delete(run);
      },
      log: () => {},
    },
  );
  return {
    questions,
    /** The sequence numbers after which messages were asked for. */
    peeks,
    /** The times of the next looks. */
    looksAt: () => [...timers.values()],
    pass(ms: number) {
      now += ms;
      for (const [run, at] of timers) if (at <= now && timers.delete(run)) run();
    },
  };
}

test('the inbox is looked at only while an answer is waited for, at most once a second for all waits together', async () => {
  const { questions, peeks, looksAt, pass } = startWaits([
    message(3, 'task'),
    message(5, 'ask'),
    message(8, 'note'),
  ]);
  questions.watch({ id: 'over', to: 'walt' })[Symbol.dispose]();
  expect(looksAt()).toEqual([]);
  using first = questions.watch({ id: 'one', to: 'nemo' });
  expect(looksAt()).toEqual([250]);
  pass(250);
  // A question of an agent that was not asked does not end the wait at once. Its page is followed by an empty one.
  await expect.poll(looksAt).toEqual([1_250]);
  expect(peeks).toEqual([0, 8]);
  using second = questions.watch({ id: 'two', to: 'paul' });
  expect(looksAt()).toEqual([1_250]);
  pass(1_000);
  // The calls of one turn are all told.
  const told = [{ seq: 5, id: 'm5', from: 'walt' }];
  expect(await Promise.all([first.found, second.found])).toEqual([told, told]);
  expect(peeks).toEqual([0, 8, 0, 8]);
});

function message(seq: number, kind: string): Message {
  const from = { agent: 'walt', address: 'walt', role: 'worker' };
  return { id: `m${seq}`, seq, from, to: 'rosa', kind, created_at: 0 };
}
