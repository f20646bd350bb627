import type { BrokerClient } from '@signalbox/client';
import { requireFreeInbox } from '@signalbox/client/internal';
import { questionKinds } from '@signalbox/client/operator/internal';
import { bodyWithoutSecrets } from '@signalbox/mcp-host/redaction';
import {
  agentOf,
  frameLimits,
  type Hold,
  isOperator,
  isReservedName,
  type Message,
  SignalboxError,
  threadOf,
} from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { holdText } from '@signalbox/protocol/internal';
import { late, within } from '@signalbox/serving';
import { type ConnectedClient, withClient } from '../connection/connected-client.ts';
import { type ConnectionFlags, sameConnection } from '../connection/connection.ts';
import { type ExitCode, exitCodes } from '../terminal/exit-codes.ts';
import {
  count,
  factLines,
  printed,
  printJson,
  printLines,
  printNotes,
  tableLines,
} from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { refuseInTurn } from '../worker/refuse-in-turn.ts';
import { bodyLines, bodyStart, withParsedBody } from './message-text.ts';
import { listScheduled } from './scheduled.ts';
import { type WaitFlags, waitForMail } from './wait-for-mail.ts';
import {
  countHeldBack,
  findWaiting,
  heldBackText,
  holdsOn,
  readWaiting,
  stillWaiting,
} from './waiting-messages.ts';
import { requireKnownAgent } from './why-waiting.ts';

/** The options of `signalbox inbox`. */
export interface InboxFlags extends WaitFlags {
  /** The agent or group whose messages are shown, for operators. */
  of?: string;
  take?: boolean;
  takeOver?: boolean;
  wait?: boolean;
  scheduled?: boolean;
  limit: number;
}

/** The options of `signalbox inbox show`. `from` is the agent that sent the message. */
export interface InboxShowFlags extends ConnectionFlags {
  from?: string;
  of?: string;
  json?: boolean;
}

/**
 * Lists the messages that wait in an agent's inbox. With `take` they are printed whole, and acknowledged after that; with `wait`
 * the command waits for new ones. Returns the exit code.
 */
export async function inbox(flags: InboxFlags): Promise<ExitCode> {
  checkOptions(flags);
  if (flags.wait) return await waitForMail(flags);
  await (flags.scheduled ? listScheduled(flags) : flags.take ? take(flags) : list(flags));
  return exitCodes.ok;
}

function checkOptions({ wait, take, takeOver, scheduled, timeout, mark, of }: InboxFlags): void {
  if (of !== undefined && (wait || take || scheduled)) {
    const other = take ? '--take' : wait ? '--wait' : '--scheduled';
    throw new SignalboxError(
      'usage',
      `--of shows what waits for somebody else, and ${other} is for your own messages`,
      {
        details: { hint: 'leave one of them out' },
      },
    );
  }
  if (scheduled && (wait || take)) {
    const other = take ? '--take' : '--wait';
    throw new SignalboxError('usage', `--scheduled lists what is not due, and ${other} is for what waits`, {
      details: { hint: 'leave one of them out' },
    });
  }
  const alone = timeout !== undefined ? '--timeout' : mark !== undefined ? '--mark' : undefined;
  if (wait && take) {
    throw new SignalboxError('usage', '--wait and --take do not go together: --wait takes no messages', {
      details: { hint: 'wait first, then take: signalbox inbox --wait; signalbox inbox --take' },
    });
  }
  if (takeOver && !take) {
    throw new SignalboxError('usage', '--take-over means nothing without --take', {
      details: { hint: 'add --take, or leave --take-over out' },
    });
  }
  if (wait || alone === undefined) return;
  throw new SignalboxError('usage', `${alone} means nothing without --wait`, {
    details: { hint: `add --wait, or leave ${alone} out` },
  });
}

/** Prints one message that waits in an agent's inbox, without taking it. */
export async function showMessage(id: string, flags: InboxShowFlags): Promise<void> {
  const { of } = flags;
  const { message, holds } = await withClient(flags, async (connected) => ({
    message: await findOrExplain(connected, id, flags),
    holds:
      of !== undefined && (await countHeldBack(connected.client, of)) > 0
        ? await holdsOn(connected.client, of)
        : [],
  }));
  const shown = of === undefined ? message : withoutSecretsOf(message);
  if (flags.json) return printJson({ message: withParsedBody(shown), ...(holds.length > 0 && { holds }) });
  printLines(wholeMessage(shown, Date.now()));
  if (holds.length > 0)
    printNotes(
      ...holds.map((hold) => `${message.to} is held: ${holdText(hold)}`),
      howToRelease(holds, flags),
    );
}

/** Finds a message that waits. An operator reads that nobody knows the agent, or the sender, in place of that it is not there. */
async function findOrExplain(
  connected: ConnectedClient,
  id: string,
  { of, from, ...flags }: InboxShowFlags,
): Promise<Message> {
  const { client, connection } = connected;
  try {
    return await findWaiting(client, of ?? connection.agent, { id, ...(from !== undefined && { from }) });
  } catch (error) {
    for (const name of [of, from])
      if (name !== undefined && !isReservedName(name)) await requireKnownAgent(connected, name, flags);
    throw error;
  }
}

/** Returns a message of somebody else without what has the form of a credential. */
function withoutSecretsOf(message: Message): Message {
  return message.body === undefined ? message : { ...message, body: bodyWithoutSecrets(message.body) };
}

async function list(flags: InboxFlags): Promise<void> {
  const {
    messages: waiting,
    more,
    heldBack,
    holds,
    agent,
  } = await withClient(flags, async (connected) => {
    const { of } = flags;
    const { client, connection } = connected;
    const { agent } = connection;
    const found = await readWaiting(client, of ?? agent, flags.limit);
    if (of !== undefined && found.messages.length === 0) await requireKnownAgent(connected, of, flags);
    const holds = of !== undefined && found.heldBack > 0 ? await holdsOn(client, of) : undefined;
    return { ...found, holds, agent: of ?? agent };
  });
  const heldLines = heldBack === 0 ? [] : [heldBackText(agent, heldBack, holds)];
  if (holds !== undefined) heldLines.push(howToRelease(holds, flags));
  const messages = flags.of === undefined ? waiting : waiting.map(withoutSecretsOf);
  if (flags.json)
    return printJson({
      messages: messages.map(withParsedBody),
      ...(more && { more }),
      ...(heldBack > 0 && { held_back: heldBack }),
      ...(holds && { holds }),
    });
  if (messages.length === 0) return printLines(...(heldBack > 0 ? heldLines : [nothingWaits(agent)]));
  const first = more
    ? `The first ${messages.length}, still waiting, and there are more: see --limit.`
    : `${count(messages.length, 'message')}, still waiting.`;
  const isMine = flags.of === undefined || isOperator(agentOf(flags.of));
  const isAsked = isMine && messages.some(({ kind }) => questionKinds.has(kind));
  printLines(
    messageTable(messages),
    '',
    first,
    ...heldLines,
    ...(flags.of === undefined ? [howToRead(flags)] : []),
    ...(isAsked ? [`Answer an ask or task: ${howToAnswer('FROM', 'ID', flags)}`] : []),
  );
}

async function take(flags: InboxFlags): Promise<void> {
  const together = flags.json === true;
  let shown = 0;
  const { left, heldBack, agent } = await withClient(
    flags,
    async ({ client }) => {
      refuseInTurn(client.address, process.env);
      if (!flags.takeOver) await requireFreeInbox(client);
      const show = async (messages: readonly Message[]): Promise<void> => {
        shown += messages.length;
        if (together) {
          const held = await countHeldBack(client, client.agent);
          printJson({ messages: messages.map(withParsedBody), ...(held > 0 && { held_back: held }) });
        } else for (const message of messages) printLines(takenLines(message, flags), '');
        await printed();
      };
      const left = await takeWaiting(client, { limit: flags.limit, together }, show);
      return {
        left,
        heldBack: left > 0 ? await countHeldBack(client, client.agent) : 0,
        agent: client.agent,
      };
    },
    { as: 'agent' },
  );
  if (together) return;
  if (shown > 0) printLines(`${count(shown, 'message')} taken${left > 0 ? `; ${left} still waiting` : ''}.`);
  if (heldBack > 0) printLines(heldBackText(agent, heldBack));
  else if (shown === 0) printLines(nothingWaits(agent));
}

/** Returns the thread of a message, or nothing if it begins one. */
function otherThread(message: Message): string {
  const thread = threadOf(message);
  return thread === message.id ? '' : thread;
}

function howToRelease(holds: readonly Hold[], flags: ConnectionFlags): string {
  const ids = holds.map(({ id }) => id);
  return `Release it: ${shellWords('signalbox', 'release', ...ids, ...sameConnection(flags))}`;
}

const nothingWaits = (agent: string): string => `no messages are waiting for ${agent}`;

function howToRead(flags: InboxFlags): string {
  const [show, take] = [['show', 'ID'], ['--take']].map((words) =>
    shellWords('signalbox', 'inbox', ...words, ...sameConnection(flags)),
  );
  return `Read one whole: ${show}   Read all and take them from the inbox: ${take}`;
}

function howToAnswer(to: string, id: string, flags: InboxFlags): string {
  const words = ['--reply-to', id, ...(flags.of === undefined ? [] : ['--of', flags.of])];
  return `${shellWords('signalbox', 'send', to)} TEXT ${shellWords(...words, ...sameConnection(flags))}`;
}

/** A message that leaves the inbox, with the way to answer it from now on. */
function takenLines(message: Message, flags: InboxFlags): string[] {
  const { id, kind, from } = message;
  const lines = wholeMessage(message, Date.now());
  if (questionKinds.has(kind)) lines.push('', `Answer it: ${howToAnswer(from.address, id, flags)}`);
  return lines;
}

function messageTable(messages: readonly Message[]): string[] {
  const rows = messages.map((message) => [
    message.id,
    message.from.agent,
    message.kind,
    otherThread(message),
    `${formatDuration(Date.now() - message.created_at)} ago${timeLeft(message)}`,
    bodyStart(message.body),
  ]);
  return tableLines(['ID', 'FROM', 'KIND', 'THREAD', 'SENT', 'TEXT'], rows);
}

/** Says how long a question can still be answered. */
function timeLeft({ kind, remaining_ms: leftMs }: Message): string {
  return questionKinds.has(kind) && leftMs !== undefined ? `, ${formatDuration(leftMs)} left` : '';
}

/** Writes a message for people: its header, an empty line, and its whole body. `now` in epoch milliseconds. */
function wholeMessage(message: Message, now: number): string[] {
  const { id, from, kind, correlation_id, created_at, attempt, body } = message;
  const facts: (readonly [string, string])[] = [
    ['id', id],
    ['from', `${from.address} (role ${from.role})`],
    ['kind', kind],
    ['thread', threadOf(message)],
    ...(correlation_id === undefined ? [] : [['answers', correlation_id] as const]),
    [
      'sent',
      `${new Date(created_at).toISOString()} (${formatDuration(now - created_at)} ago${timeLeft(message)})`,
    ],
    ...(attempt === undefined ? [] : [['attempt', String(attempt)] as const]),
  ];
  return [...factLines(facts), '', ...bodyLines(body)];
}

const windowBytes = 64 * 1024 * 1024;
/** The broker pushes the backlog at once; after this much silence, in milliseconds, no more is expected. */
const quietMs = 500;

/**
 * Claims up to `limit` messages that wait in the client's own inbox, hands them to `show`, and only then acknowledges
 * them: a message that could not be shown is delivered again. Each is shown and acknowledged by itself, or with `together` all at
 * once, as many as fit into 64 MiB. Resolves with the number that is left. Rejects with `connection_lost` if an ack fails.
 */
async function takeWaiting(
  client: BrokerClient,
  { limit, together }: { limit: number; together: boolean },
  show: (messages: readonly Message[]) => Promise<void>,
): Promise<number> {
  await using subscription = await client.subscribe({
    window: Math.min(limit, frameLimits.windowMessages),
    windowBytes,
  });
  const { pending } = subscription.subscribed;
  const wanted = Math.min(limit, pending);
  const taken: Message[] = [];
  const finish = async (messages: readonly Message[]): Promise<void> => {
    await show(messages);
    await acknowledge(client, messages);
  };
  while (taken.length < wanted) {
    const next = await beforeQuiet(subscription.messages.next());
    if (next === undefined || next.done) break;
    taken.push(next.value);
    if (!together) await finish([next.value]);
  }
  if (together) await finish(taken);
  return pending - taken.length;
}

async function acknowledge(client: BrokerClient, messages: readonly Message[]): Promise<void> {
  const { rejected } = await client.ack(messages.flatMap(({ seq }) => seq ?? []));
  const lost = messages.filter(({ seq }) => seq !== undefined && rejected.includes(seq));
  const waiting = await stillWaiting(client, lost).catch(() => lost);
  if (waiting.length > 0) {
    const message = `${count(waiting.length, 'message')} of those above could not be acknowledged and will be delivered again`;
    throw new SignalboxError('connection_lost', message, { retryable: true });
  }
  if (lost.length > 0) printNotes(...lost.map(settledLine));
}

function settledLine({ id, kind }: Message): string {
  const why = questionKinds.has(kind)
    ? 'somebody else has answered it, or its sender withdrew it'
    : 'it is settled';
  return `message ${id} does not wait any more: ${why}`;
}

async function beforeQuiet<T>(promise: Promise<T>): Promise<T | undefined> {
  const result = await within(promise, quietMs);
  return result === late ? undefined : result;
}
