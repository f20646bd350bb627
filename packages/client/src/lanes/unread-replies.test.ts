import { expect, test } from 'vitest';
import { UnreadReplies } from './unread-replies.ts';

test('A reply is remembered once, for ten minutes, and the room of one agent takes nothing from another.', () => {
  let now = 0;
  const replies = new UnreadReplies(() => now);
  const reply = (text: string) => ({ kind: 'mcp_reply', text });
  replies.add('walt', 'w', reply('his'));
  for (let n = 0; n < 300; n++) replies.add('rosa', `r${n}`, reply(String(n)));
  expect(replies.take('rosa', 'r0')).toBeUndefined();
  expect(replies.take('rosa', 'r299')).toEqual(reply('299'));
  expect(replies.take('rosa', 'r299')).toBeUndefined();
  replies.add('rosa', 'long', reply('x'.repeat(4 * 1024 * 1024)));
  expect(replies.take('rosa', 'r298')).toBeUndefined();
  expect(replies.take('rosa', 'long')).toBeDefined();
  expect(replies.take('walt', 'w')).toEqual(reply('his'));
  replies.add('walt', 'w', reply('his'));
  now = 10 * 60_000 + 1;
  expect(replies.take('walt', 'w')).toBeUndefined();
});
