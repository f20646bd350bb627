import { mailboxToolNames } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { mailboxInstructions } from './mailbox-instructions.ts';

test('the first line names the mailbox and what to do with it, within what a client shows that cuts at 250 bytes', () => {
  const [first = ''] = mailboxInstructions(mailboxToolNames, { role: 'writer' });
  expect(Buffer.byteLength(first)).toBeLessThan(240);
  expect(first).toMatch(/mailbox.*signalbox_inbox_read.*signalbox_reply.*signalbox_send_message/);
});

test('whatever mailbox tools a role has, served or not, the first line names the mailbox', () => {
  for (const isServed of [false, true]) {
    for (let some = 1; some < 2 ** mailboxToolNames.length; some++) {
      const names = mailboxToolNames.filter((_, at) => (some & (1 << at)) !== 0);
      // These two only look up what other tools have begun.
      if (names.every((name) => name === 'signalbox_ask_result' || name === 'signalbox_call_result'))
        continue;
      const [first = ''] = mailboxInstructions(names, { role: 'writer', isServed });
      expect(first, names.join()).toContain('mailbox');
      expect(Buffer.byteLength(first)).toBeLessThan(240);
    }
  }
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
