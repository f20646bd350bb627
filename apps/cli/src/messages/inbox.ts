import type { Message } from '@signalbox/protocol';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { formatDuration } from '../terminal/duration.ts';
import { count, oneLine, printed, printJson, printLines, tableLines } from '../terminal/output.ts';
import { bodyText, parsedBody, withParsedBody } from './message-text.ts';
import { readWaiting } from './read-waiting.ts';
import { takeWaiting } from './take-waiting.ts';

/** The options of `signalbox inbox`. */
export interface InboxFlags extends ConnectionFlags {
  take?: boolean;
  limit: number;
  json?: boolean;
}

/** Prints the messages that wait in an agent's inbox. With `take` they are acknowledged after they were printed. */
export async function inbox(flags: InboxFlags): Promise<void> {
  if (!flags.take) {
    const { messages, more } = await withSession(flags, ({ client, connection }) =>
      readWaiting(client, connection.agent, flags.limit),
    );
    return print(messages, flags, more ? moreNote(messages.length) : waitingNote(messages.length));
  }
  await withSession(
    flags,
    ({ client }) =>
      takeWaiting(client, flags.limit, async (messages) => {
        print(messages, flags);
        await printed();
      }),
    { as: 'agent' },
  );
}

function waitingNote(n: number): string {
  return `${count(n, 'message')}, still waiting; signalbox inbox --take claims and acknowledges.`;
}

function moreNote(n: number): string {
  return `The first ${n}, still waiting, and there are more: see --limit. signalbox inbox --take claims and acknowledges.`;
}

function print(messages: readonly Message[], flags: InboxFlags, note?: string): void {
  if (flags.json) printJson({ messages: messages.map(withParsedBody) });
  else if (messages.length === 0) printLines('no messages are waiting');
  else printLines(...messageLines(messages), ...(note === undefined ? [] : ['', note]));
}

function messageLines(messages: readonly Message[]): string[] {
  const rows = messages.map((message) => [
    message.id,
    message.from.agent,
    message.kind,
    `${formatDuration(Date.now() - message.created_at)} ago`,
    oneLine(bodyText(parsedBody(message.body)), 80),
  ]);
  return tableLines(['ID', 'FROM', 'KIND', 'SENT', 'TEXT'], rows);
}
