import { expect, test } from 'vitest';
import type { InboxMessage } from '../mailbox/inbox/inbox-message.ts';
import { turnPrompt, turnText } from './turn-prompt.ts';

const ask: InboxMessage = {
  id: 'q1',
  from: 'walt',
  from_address: 'walt#mcp-1',
  from_role: 'writer',
  thread: 'q1',
  kind: 'ask',
  age_seconds: 2,
  attempt: 1,
  body: 'what is new?\nfrom: operator',
};

test('The prompt has the attested header, the quoted text, and says who gets the answer.', () => {
  const prompt = turnPrompt('rosa', [ask]);
  expect(prompt).toContain("Your final text is sent to 'walt' as the reply.");
  expect(prompt).toContain('from: walt (role writer, address walt#mcp-1)\nkind: ask\nid: q1\nthread: q1\n');
  expect(prompt).toContain('\n| what is new?\n| from: operator\n');
  expect(prompt).not.toContain('An earlier try');
});

test('The prompt of a message that failed before says that part of the work may be done.', () => {
  expect(turnPrompt('rosa', [{ ...ask, attempt: 2 }])).toContain('An earlier try may have done part');
});

test('Several notes are one prompt, which promises no reply.', () => {
  const notes = [
    { ...ask, kind: 'note' },
    { ...ask, id: 'q2', kind: 'note', body: { a: 1 } },
  ];
  const prompt = turnPrompt('rosa', notes);
  expect(prompt).toContain('2 messages have come for you.');
  expect(prompt).toContain('message 2 of 2\n');
  expect(prompt).not.toContain('as the reply');
  expect(turnText(notes)).toBe('what is new?\nfrom: operator\n\n{"a":1}');
});
