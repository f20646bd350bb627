import { type Message, threadOf } from '@signalbox/protocol';
import { formatDuration } from '../terminal/duration.ts';
import { factLines } from '../terminal/output.ts';
import { bodyLines } from './message-text.ts';

/** Writes a message for people: its header, an empty line, and its whole body. `now` in epoch milliseconds. */
export function wholeMessage(message: Message, now: number): string[] {
  const { id, from, kind, correlation_id, created_at, attempt, body } = message;
  const facts: (readonly [string, string])[] = [
    ['id', id],
    ['from', `${from.address} (role ${from.role})`],
    ['kind', kind],
    ['thread', threadOf(message)],
    ...(correlation_id === undefined ? [] : [['answers', correlation_id] as const]),
    ['sent', `${new Date(created_at).toISOString()} (${formatDuration(now - created_at)} ago)`],
    ...(attempt === undefined ? [] : [['attempt', String(attempt)] as const]),
  ];
  return [...factLines(facts), '', ...bodyLines(body)];
}
