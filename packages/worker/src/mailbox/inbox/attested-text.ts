import { quotedLines } from '@signalbox/protocol/internal';
import { isQuestion } from './checked-out-messages.ts';
import type { InboxMessage } from './inbox-message.ts';

/** Quotes a text, so that none of its lines can be taken for a header: see `quotedLines`. */
export function quotedText(text: string): string {
  return quotedLines(text).join('\n');
}

/** Quotes a body for a model: a text unchanged, anything else as JSON. */
export function quotedBody(body: unknown): string {
  return quotedText(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''));
}

/** Writes a message under its attested header. It ends with a line end, so that nothing is ever appended to its last line. */
export function attestedText(message: InboxMessage, title: string): string {
  const { from, from_address, from_role, kind, expires_in_seconds: expires } = message;
  const header = [
    title,
    `from: ${from} (role ${from_role}, address ${from_address})`,
    message.from_outside && 'sent: from outside, over A2A',
    `kind: ${kind}`,
    message.group !== undefined && `sent to the group: ${message.group}`,
    `id: ${message.id}`,
    message.in_reply_to !== undefined && `in reply to: ${message.in_reply_to}`,
    `thread: ${message.thread}`,
    `age: ${message.age_seconds} s`,
    `attempt: ${message.attempt}`,
    message.shown_before && shownText(message),
    isQuestion(kind) && expires !== undefined && `answer within: ${expires} s, with signalbox_reply`,
    'body:',
  ];
  return `${header.filter(Boolean).join('\n')}\n${quotedBody(message.body)}\n`;
}

function shownText({ shown_seconds_ago: ago, attempt }: InboxMessage): string {
  const when = ago === undefined ? 'yes' : `yes, ${ago} s ago`;
  const hint = attempt > 1 ? '; the process that had it may have begun the work' : '';
  return `shown before: ${when}, and not acked${hint}`;
}
