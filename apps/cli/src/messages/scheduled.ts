import { type ScheduledMessageInfo, SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { suggestion } from '@signalbox/protocol/internal';
import { withClient } from '../connection/connected-client.ts';
import { type ConnectionFlags, sameConnection } from '../connection/connection.ts';
import { count, instant, printJson, printLines, tableLines } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { requireKnownAgent } from './why-waiting.ts';

/** The most scheduled messages among whose names a misspelt one is looked for. */
const lookedAt = 1000;

/** The options of `signalbox inbox --scheduled`. */
export interface ScheduledFlags extends ConnectionFlags {
  limit: number;
  json?: boolean;
}

/** The options of `signalbox inbox cancel`. `from` is the agent that sent the message. */
export interface CancelFlags extends ConnectionFlags {
  from?: string;
  json?: boolean;
}

/** Lists the messages that an agent sent and that are not due; for operators and observers those of everybody. */
export async function listScheduled(flags: ScheduledFlags): Promise<void> {
  const found = await withClient(flags, ({ client }) => client.listScheduled({ limit: flags.limit + 1 }));
  const messages = found.slice(0, flags.limit);
  const more = found.length > flags.limit;
  if (flags.json) return printJson({ messages, ...(more && { more }) });
  if (messages.length === 0) return printLines('no messages wait for their time');
  const first = more
    ? `The first ${messages.length}, and there are more: see --limit.`
    : `${count(messages.length, 'message')}, not due.`;
  printLines(
    ...table(messages),
    '',
    first,
    `Cancel one: ${shellWords('signalbox', 'inbox', 'cancel', 'TO', 'ID', ...sameConnection(flags))}`,
  );
}

/** Cancels a message that is not due. */
export async function cancelScheduled(to: string, id: string, flags: CancelFlags): Promise<void> {
  const cancelled = await withClient(flags, async (connected) => {
    const { client } = connected;
    const { from, ...others } = flags;
    const done = await client.cancelScheduled({ to, id, ...(from !== undefined && { sender: from }) });
    if (done === 0)
      for (const name of [to, from]) if (name !== undefined) await requireKnownAgent(connected, name, others);
    if (done === 0) throw nothingToCancel(to, id, flags, await client.listScheduled({ limit: lookedAt }));
    return done;
  });
  if (flags.json) return printJson({ id, to, cancelled });
  const what =
    cancelled === 1 ? `message ${id} to ${to} is` : `${cancelled} copies of message ${id} to ${to} are`;
  printLines(`${what} cancelled`);
}

function nothingToCancel(
  to: string,
  id: string,
  { from }: CancelFlags,
  others: readonly ScheduledMessageInfo[],
): SignalboxError {
  const senders = new Set(others.map((one) => one.from.agent));
  const whose = from === undefined ? 'of yours' : `of '${from}'${unlessKnown(from, senders)}`;
  const recipient = `'${to}'${unlessKnown(to, new Set(others.map((one) => one.to)))}`;
  return new SignalboxError(
    'unknown_message',
    `no message '${id}' ${whose} to ${recipient} waits for its time`,
    {
      details: { hint: 'signalbox inbox --scheduled lists those that do; one that is due was handed out' },
    },
  );
}

function unlessKnown(name: string, known: ReadonlySet<string>): string {
  return known.has(name) ? '' : suggestion(name, known);
}

function table(messages: readonly ScheduledMessageInfo[]): string[] {
  const rows = messages.map(({ id, from, to, kind, due_in_ms, due_at, size }) => [
    id,
    from.agent,
    to,
    kind,
    `in ${formatDuration(due_in_ms)}`,
    instant(due_at, Date.now()),
    String(size),
  ]);
  return tableLines(['ID', 'FROM', 'TO', 'KIND', 'DUE', 'AT', 'BYTES'], rows);
}
