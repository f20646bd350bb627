import type { BrokerClient } from '@signalbox/client';
import {
  type DeadLetter,
  type DeadLetterChanges,
  dropDeadLetters,
  listDeadLetters,
  readDeadLetter,
  retryDeadLetters,
} from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { bodyLines, parsedBody } from '../messages/message-text.ts';
import { requireKnownAgent } from '../messages/why-waiting.ts';
import { exitCodes } from '../terminal/exit-codes.ts';
import {
  count,
  factLines,
  oneLine,
  printJson,
  printLines,
  printNotes,
  tableLines,
} from '../terminal/output.ts';

interface DeadFlags extends ConnectionFlags {
  json?: boolean;
}

/** The options of `signalbox dead list`. */
export interface DeadListFlags extends DeadFlags {
  inbox?: string;
  after?: number;
  limit: number;
}

/** The options of `signalbox dead retry` and `signalbox dead drop`. */
export interface DeadChangeFlags extends DeadFlags {
  inbox?: string;
  all?: boolean;
}

/** Lists messages that were given up. */
export async function listDead(flags: DeadListFlags): Promise<void> {
  const found = await withClient(flags, async (connected) => {
    const letters = await listDeadLetters(connected.client, flags);
    if (flags.inbox !== undefined && letters.messages.length === 0)
      await requireKnownAgent(connected, flags.inbox, flags);
    return letters;
  });
  if (flags.json) return printJson(found);
  const { messages, more } = found;
  if (messages.length === 0) return printLines('no message was given up');
  const rows = messages.map(({ seq, inbox, from, kind, dead_at, attempts, reason }) => [
    String(seq),
    inbox,
    from.agent,
    kind,
    ago(dead_at),
    String(attempts),
    oneLine(reason, 80),
  ]);
  printLines(
    ...tableLines(['SEQ', 'INBOX', 'FROM', 'KIND', 'DIED', 'ATTEMPTS', 'REASON'], rows),
    '',
    more
      ? `There are more: go on with --after ${messages.at(-1)?.seq}, or raise --limit.`
      : `${count(messages.length, 'message')}; see one with: signalbox dead show SEQ`,
  );
}

/** Shows one message that was given up, with its body. */
export async function showDead(seq: number, flags: DeadFlags): Promise<void> {
  const message = await withClient(flags, ({ client }) => readDeadLetter(client, seq));
  const { body, ...header } = message;
  if (flags.json) return printJson({ message: { ...header, body: parsedBody(body) } });
  printLines(...headerLines(header), '', bodyLines(body));
}

/** Puts messages that were given up back into their inboxes. Says before that for which of them nobody waits for the answer. */
export async function retryDead(named: readonly number[], flags: DeadChangeFlags): Promise<void> {
  const { done, unknown, refused, unawaited } = await changeDead('retry', named, flags);
  if (flags.json) {
    printJson({
      retried: done,
      unknown,
      ...(refused.length > 0 && { refused }),
      ...(unawaited.length > 0 && { unawaited }),
    });
  } else {
    printLines(
      `${count(done.length, 'message')} put back, to be delivered as if new.`,
      ...unknownLines(unknown),
      ...refused.map(({ seq, code }) => `${seq} cannot be put back now (${code}) and stays here.`),
    );
  }
}

/** Drops messages that were given up. They cannot be restored. */
export async function dropDead(named: readonly number[], flags: DeadChangeFlags): Promise<void> {
  const { done, unknown } = await changeDead('drop', named, flags);
  if (flags.json) printJson({ dropped: done, unknown });
  else printLines(`${count(done.length, 'message')} dropped for good.`, ...unknownLines(unknown));
}

/** Retries or drops the named messages, or all that the options select, and sets the exit code. */
async function changeDead(
  how: 'retry' | 'drop',
  named: readonly number[],
  flags: DeadChangeFlags,
): Promise<DeadLetterChanges & { unawaited: number[] }> {
  checkChoice(how, named, flags);
  const { inbox } = flags;
  let unawaited: number[] = [];
  const changes = await withClient(
    flags,
    async (connected) => {
      const { client } = connected;
      // All are listed before the first is changed: one that dies again at once must not be retried again.
      const all = { ...(inbox !== undefined && { inbox }), limit: Number.POSITIVE_INFINITY };
      const letters = named.length > 0 ? undefined : (await listDeadLetters(client, all)).messages;
      if (inbox !== undefined && letters?.length === 0) await requireKnownAgent(connected, inbox, flags);
      const seqs = letters?.map(({ seq }) => seq) ?? named;
      if (how === 'retry') {
        unawaited = (letters ?? (await lettersOf(client, named)))
          .filter((one) => one.unawaited)
          .map(({ seq }) => seq);
        if (!flags.json && unawaited.length > 0) printNotes(unawaitedText(unawaited));
      }
      return await (how === 'retry' ? retryDeadLetters(client, seqs) : dropDeadLetters(client, seqs));
    },
    { changes: !flags.json },
  );
  if (changes.refused.length > 0) process.exitCode = exitCodes.retryable;
  // A message that was not named may have been retried or dropped by somebody else meanwhile: that is no failure.
  else if (named.length > 0 && changes.unknown.length > 0) process.exitCode = exitCodes.failed;
  return { ...changes, unawaited };
}

/** Reads the headers of the dead letters with these numbers. */
async function lettersOf(client: BrokerClient, seqs: readonly number[]): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const seq of seqs) {
    const { messages } = await listDeadLetters(client, { after: seq - 1, limit: 1 });
    letters.push(...messages.filter((letter) => letter.seq === seq));
  }
  return letters;
}

function unawaitedText(seqs: readonly number[]): string {
  const were = seqs.length === 1 ? 'it was' : 'they were';
  return `Nobody waits for an answer to ${seqs.join(', ')}: who asked was told that ${were} given up. The work is done again all the same; history shows the answer, and that nobody read it.`;
}

/** Demands either numbers or an option that means many, so that nobody retries or drops many by mistake. */
function checkChoice(how: string, named: readonly number[], { inbox, all }: DeadChangeFlags): void {
  const many = inbox !== undefined || all === true;
  if (named.length > 0 !== many) return;
  const message = many
    ? 'both sequence numbers and --inbox or --all are given'
    : 'no message is named, so nothing was changed';
  throw new SignalboxError('usage', message, {
    details: {
      hint: `name them: signalbox dead ${how} SEQ…   or all of one inbox: --inbox NAME   or really all: --all`,
    },
  });
}

function headerLines({ seq, inbox, id, from, kind, correlation_id, ...rest }: DeadLetter): string[] {
  const { created_at, dead_at, attempts, reason, size, unawaited } = rest;
  return factLines([
    ['seq', String(seq)],
    ['inbox', inbox],
    ['id', id],
    ['from', `${from.address} (role ${from.role})`],
    ['kind', kind],
    ...(correlation_id === undefined ? [] : [['answers', correlation_id] as const]),
    ['sent', `${new Date(created_at).toISOString()} (${ago(created_at)})`],
    ['died', `${new Date(dead_at).toISOString()} (${ago(dead_at)})`],
    ['attempts', String(attempts)],
    ['reason', oneLine(reason, 500)],
    ...(unawaited
      ? [['answer', 'nobody waits for it: who asked was told that it was given up'] as const]
      : []),
    ['size', `${size} bytes`],
  ]);
}

function unknownLines(unknown: readonly number[]): string[] {
  return unknown.length === 0
    ? []
    : [`No dead letter has the number ${unknown.join(', ')}; nothing was done there.`];
}

function ago(at: number): string {
  return `${formatDuration(Date.now() - at)} ago`;
}
