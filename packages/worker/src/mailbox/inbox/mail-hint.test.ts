import { expect, test } from 'vitest';
import { mailHint } from './mail-hint.ts';

const from = (...senders: string[]) => senders.map((sender, at) => ({ id: `m${at}`, from: sender }));

test('a hint says how much, from whom, and which tool reads it', () => {
  expect(mailHint(from('rosa'), 'signalbox_inbox_read')).toEqual({
    messages: 1,
    from: ['rosa'],
    hint: '[signalbox] 1 new message waits in your inbox, from rosa. Read it with signalbox_inbox_read.',
  });
  expect(mailHint(from('rosa', 'walt', 'rosa'), 'signalbox_inbox_wait')).toEqual({
    messages: 3,
    from: ['rosa', 'walt'],
    hint: '[signalbox] 3 new messages wait in your inbox, from rosa and walt. Read them with signalbox_inbox_wait.',
  });
});

test('a hint names three senders and counts the others', () => {
  const { hint, ...facts } = mailHint(from('a', 'b', 'c', 'd', 'e', 'd'), 'signalbox_inbox_read');
  expect(facts).toEqual({ messages: 6, from: ['a', 'b', 'c'], more_senders: 2 });
  expect(hint).toContain('from a, b, c and 2 more.');
});
