import type { BrokerClient, Receipt } from '@signalbox/client';
import { answerRequest } from '@signalbox/client/operator';
import {
  agentOf,
  idSchema,
  isGroup,
  isOperator,
  kindSchema,
  type Message,
  SignalboxError,
} from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { type ConnectedClient, requireLifetime, withClient } from '../connection/connected-client.ts';
import { type ConnectionFlags, sameConnection } from '../connection/connection.ts';
import { count, printJson, printLines, printNotes } from '../terminal/output.ts';
import { shellWords } from '../terminal/shell-words.ts';
import { textArgument } from './text-argument.ts';
import { findWaiting } from './waiting-messages.ts';
import { whyWaiting, whyWaitingLines, withRecipientHint } from './why-waiting.ts';

/** The options of `signalbox send`. `ttl` in milliseconds. */
export interface SendFlags extends ConnectionFlags {
  kind?: string;
  replyTo?: string;
  /** The operator who was asked. By default the sender was. */
  of?: string;
  id?: string;
  ttl?: number;
  /** Epoch milliseconds. */
  at?: number;
  /** Milliseconds from now. */
  in?: number;
  all?: boolean;
  partial?: boolean;
  key?: string;
  thread?: string;
  json?: boolean;
}

/**
 * Stores one message in the inbox of an agent or a group, or one for each member of a group. Its body is the text as a JSON string. The
 * sender is the agent's own address, since nobody else would read a later answer.
 */
export async function send(to: string, argument: string, flags: SendFlags): Promise<void> {
  checkOptions(flags);
  checkGroupOptions(to, flags);
  checkReply(flags);
  const notBeforeMs = waitOf(flags, Date.now());
  const body = await textArgument(argument);
  const kind = flags.kind ?? (flags.replyTo === undefined ? 'note' : 'reply');
  const deliver = async ({ client }: ConnectedClient) => {
    requireLifetime(client, '--ttl', flags.ttl);
    const question = kind === 'reply' ? await questionOf(client, to, flags) : undefined;
    const asked = question?.to ?? flags.of;
    const message = {
      body,
      ...(flags.id !== undefined && { id: flags.id }),
      ...(flags.ttl !== undefined && { ttlMs: flags.ttl }),
      ...(flags.thread !== undefined && { thread: flags.thread }),
      ...(notBeforeMs !== undefined && { notBeforeMs }),
      ...(flags.key !== undefined && { groupKey: flags.key }),
      ...(flags.all && { all: true }),
      ...(flags.partial && { partial: true }),
    };
    const { replyTo: correlationId } = flags;
    const deliverTo = async (address: string) => {
      const waiting = notBeforeMs === undefined && !flags.all ? await whyWaiting(client, address) : undefined;
      const outgoing = { ...message, to: address };
      const receipt =
        kind === 'reply' && correlationId !== undefined
          ? await answerRequest(client, { ...outgoing, correlationId, ...(asked !== undefined && { asked }) })
          : await client.deliver({
              ...outgoing,
              kind,
              ...(correlationId !== undefined && { correlationId }),
            });
      return { receipt, waiting: receipt.duplicate ? undefined : waiting };
    };
    if (to.includes('#')) return await deliverTo(to);
    // The agent that asked may have several addresses, and the broker names the one that waits for the answer.
    return await deliverTo(question?.from.address ?? to).catch((error: unknown) => {
      const address = error instanceof SignalboxError ? error.details.replyTo : undefined;
      if (typeof address !== 'string') throw error;
      return deliverTo(address);
    });
  };
  const { receipt, waiting } = await withClient(flags, deliver, { as: 'agent' }).catch((error) => {
    throw withRequestHint(withRecipientHint(error, to), flags);
  });
  if (flags.json) {
    const { ttlMs, ...rest } = receipt;
    return printJson({ ...rest, ...(ttlMs !== undefined && { ttl_ms: ttlMs }), ...(waiting && { waiting }) });
  }
  printLines(...receiptLines(to, receipt, flags), ...dueLines(to, receipt, notBeforeMs, flags));
  const reasons = whyWaitingLines(to, waiting, Date.now());
  if (reasons.length > 0) printNotes(...reasons);
}

/** Adds to the refusal of an answer to no request where its id and its sender stand. */
function withRequestHint(error: unknown, flags: SendFlags): unknown {
  if (!(error instanceof SignalboxError) || error.code !== 'forbidden') return error;
  if (error.details.field !== 'correlation_id') return error;
  const of = flags.of === undefined ? [] : ['--of', flags.of];
  const hint = `${shellWords('signalbox', 'inbox', ...of, ...sameConnection(flags))} lists what waits, with ids and senders`;
  return new SignalboxError(error.code, error.message, { cause: error, details: { hint, ...error.details } });
}

/** Finds the question that a reply answers, in the own inbox or that of an operator; `undefined` if it does not wait any more. */
async function questionOf(
  client: BrokerClient,
  to: string,
  { replyTo: id, of = client.agent }: SendFlags,
): Promise<Message | undefined> {
  if (id === undefined || isGroup(to)) return undefined;
  try {
    return await findWaiting(client, of, { id, from: agentOf(to) });
  } catch (error) {
    if (error instanceof SignalboxError && error.code === 'unknown_message') return undefined;
    throw error;
  }
}

/** Tells what became of a message. */
function receiptLines(
  to: string,
  { id, duplicate, members, refused = [] }: Receipt,
  { all }: SendFlags,
): string[] {
  const whom = all ? `${count(members ?? 0, 'member')} of ${to}` : to;
  const first = duplicate
    ? `message ${id} was stored for ${whom} before; nothing was added`
    : `message ${id} is stored for ${whom}`;
  return [
    !all && members === 0 ? `${first}, which has no member yet` : first,
    ...refused.map(({ agent, code }) => `${agent} was left out: ${code}`),
  ];
}

/** Returns the time in milliseconds after which a message is to be handed out; `undefined` for now. */
function waitOf({ at, in: wait }: SendFlags, now: number): number | undefined {
  if (at === undefined) return wait;
  if (wait !== undefined) {
    throw new SignalboxError('usage', '--at and --in are two ways to say when', {
      details: { hint: 'leave one of them out' },
    });
  }
  if (at > now) return at - now;
  throw new SignalboxError('usage', `--at ${new Date(at).toISOString()} is over`, {
    details: { hint: 'leave it out to send the message now' },
  });
}

/** Tells when a message is handed out, and how to cancel it. */
function dueLines(
  to: string,
  { id, duplicate }: Receipt,
  wait: number | undefined,
  flags: SendFlags,
): string[] {
  if (wait === undefined || duplicate) return [];
  return [
    `it is handed out in ${formatDuration(wait)}, and not before`,
    `cancel it: ${shellWords('signalbox', 'inbox', 'cancel', to, id, ...sameConnection(flags))}`,
  ];
}

/** Refuses options that go only with a group, or only with each other. */
function checkGroupOptions(to: string, { all, partial, key }: SendFlags): void {
  const refuse = (option: string, why: string, hint: string): never => {
    throw new SignalboxError('usage', `${option} ${why}`, { details: { hint } });
  };
  const option = all ? '--all' : partial ? '--partial' : key !== undefined ? '--key' : undefined;
  if (option === undefined) return;
  if (!isGroup(to))
    refuse(option, `goes with a group, and '${to}' is none`, 'send to role:ROLE or group:NAME');
  if (partial && !all) refuse('--partial', 'goes with --all', 'add --all, or leave it out');
  if (key !== undefined && all)
    refuse('--key', 'means nothing with --all: each member has a copy of its own', 'leave one of them out');
}

/** Refuses an inbox of somebody else without a question there, and a thread that the broker would refuse. */
function checkReply({ thread, kind = 'reply', replyTo, of }: SendFlags): void {
  if (of !== undefined && (replyTo === undefined || kind !== 'reply'))
    throw new SignalboxError('usage', '--of says who was asked, and goes with --reply-to', {
      details: { hint: 'add --reply-to ID, or leave --of out' },
    });
  if (of !== undefined && !isOperator(of))
    throw new SignalboxError('usage', `--of '${of}' is no operator, and agents answer for themselves`, {
      details: { hint: 'name the operator who was asked, such as operator or operator.alice' },
    });
  if (thread === undefined || replyTo === undefined || kind !== 'reply') return;
  throw new SignalboxError('usage', '--thread: a reply has the thread of its request', {
    details: { hint: 'leave it out' },
  });
}

/** Refuses what the broker would refuse too, but by the names of the options. */
function checkOptions({ kind, id, replyTo }: SendFlags): void {
  const checks = [
    ['--kind', kind, kindSchema],
    ['--id', id, idSchema],
    ['--reply-to', replyTo, idSchema],
  ] as const;
  const wrong = checks.flatMap(([option, value, schema]) => {
    const issue = value === undefined ? undefined : schema.safeParse(value).error?.issues[0];
    return issue ? [`${option} '${value}' ${issue.message}`] : [];
  });
  if (wrong.length > 0) throw new SignalboxError('usage', wrong.join('; '));
}
