import { mailboxToolNames } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { mailboxInstructions } from './mailbox-instructions.ts';

test('the first line names the mailbox and what to do with it, within what a client shows that cuts at 250 bytes', () => {
  const [first = ''] = mailboxInstructions(mailboxToolNames, { role: 'writer' });
  expect(Buffer.byteLength(first)).toBeLessThan(240);
  expect(first).toMatch(/mailbox.*signalbox_inbox_read.*signalbox_reply.*signalbox_send_message/);
});

test('the first line names only tools that the role has, and there is none without tools', () => {
  const firstOf = (...names: Parameters<typeof mailboxInstructions>[0]) =>
    mailboxInstructions(names, { role: 'writer' })[0];
  expect(firstOf('signalbox_inbox_wait')?.match(/signalbox_\w+/g)).toEqual(['signalbox_inbox_wait']);
  expect(firstOf('signalbox_ask_agent')?.match(/signalbox_\w+/g)).toEqual(['signalbox_ask_agent']);
  expect(firstOf()).toBeUndefined();
});

test('an agent that can read messages is told the group of its role, and no other one is', () => {
  const textOf = (...names: Parameters<typeof mailboxInstructions>[0]) =>
    mailboxInstructions(names, { role: 'writer' }).join('\n');
  expect(textOf('signalbox_inbox_wait')).toContain('role:writer');
  expect(textOf('signalbox_send_message')).not.toContain('role:writer');
});
