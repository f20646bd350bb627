import { replyIdOf, SignalboxError } from '@signalbox/protocol';
import type { ToolResult } from '../../tools/tool-result.ts';
import { answer, idempotent, type MailboxTool, mailboxTool } from '../mailbox-tool.ts';
import { bodyFields, bodyOf } from '../message-arguments.ts';
import { type HeldMessage, remainingMs } from './held-messages.ts';
import type { Inbox } from './inbox.ts';

/** A reply outlives its request by this much, so that an asker that reconnects late still finds it. */
const graceMs = 5 * 60_000;
/** The most held messages that an error names. */
const maxNamed = 20;
const rememberedReplies = 200;
/** The refusals of a message that was answered before. */
const saysAnswered = new Set(['already_answered', 'id_conflict']);
/** The kinds of messages to which no reply is expected. */
const unanswerable = new Set(['note', 'reply', 'event', 'progress', 'undeliverable', 'mcp_reply']);

/** Makes the tool that answers a message and acks it in the same commit. */
export function replyTool(inbox: Inbox, now: () => number): MailboxTool {
  const answered = new Set<string>();
  return mailboxTool({
    name: 'signalbox_reply',
    title: 'Reply to a message',
    description:
      'Answers a message of kind ask or task that a read returned and you have not acked. The reply and the ack of that message are one step: do not ack it besides. Each message is answered once.',
    fields: {
      message_id: { type: 'string', description: 'The id in the header of the message.', maxLength: 64 },
      from: {
        type: 'string',
        description: 'Its sender; needed only where two messages have the same id.',
        maxLength: 256,
      },
      ...bodyFields,
    },
    required: ['message_id'],
    outputSchema: {
      type: 'object',
      properties: { replied_to: { type: 'string' }, to: { type: 'string' } },
      required: ['replied_to'],
    },
    annotations: idempotent,
    async run({ message_id: id, from, ...given }, { signal, key }) {
      const body = bodyOf(given);
      const client = await inbox.hold(signal);
      const isResumable = key !== undefined && !wasRead(inbox, id, from);
      // The message may have been read, or even answered, at a face that has ended.
      if (isResumable) await inbox.fill(signal);
      if (isResumable) {
        const [state] = await client.find([
          { id, reply: key.id, ...(from !== undefined && { agent: from }) },
        ]);
        if (state === 'answered') return storedBefore(id, from);
        if (state === 'ambiguous') throw severalSenders(id);
      }
      const held = answerable(inbox, { id, from, answered, isResumable });
      const { seq } = held;
      const { address, agent } = held.message.from;
      const leftMs = remainingMs(held, now());
      await client
        .deliver(
          {
            to: address,
            kind: 'reply',
            // The id of the call tells its reply from that of another call with another text.
            id: key?.id ?? replyIdOf(id),
            correlationId: id,
            body,
            traceparent: held.traceparent,
            settles: seq,
            ...(leftMs !== undefined && { ttlMs: Math.max(0, leftMs) + graceMs }),
          },
          { signal },
        )
        .catch((thrown) => {
          if (!(thrown instanceof SignalboxError) || !saysAnswered.has(thrown.code)) throw thrown;
          // The broker acked the message, although it did not store this answer.
          inbox.held.remove([seq]);
          remember(answered, keyOf(id, agent));
          throw repeated(id, agent);
        });
      inbox.held.remove([seq]);
      remember(answered, keyOf(id, agent));
      return answer(`The reply to ${id} is stored for ${agent} on the broker's disk; the message is acked.`, {
        replied_to: id,
        to: agent,
      });
    },
  });
}

/** Returns true if a read of this process returned a message that is not acked. */
function wasRead({ held }: Inbox, id: string, from: string | undefined): boolean {
  return held.withId(id, from).some(({ offeredBy }) => offeredBy !== undefined);
}

interface Wanted {
  id: string;
  from: string | undefined;
  answered: ReadonlySet<string>;
  /** True if a message counts that no read of this process returned. */
  isResumable: boolean;
}

/** Returns the key of an answer that this process has sent. */
function answeredKey(
  answered: ReadonlySet<string>,
  id: string,
  from: string | undefined,
): string | undefined {
  return [...answered].find((key) => key.startsWith(`${id} `) && (!from || key === keyOf(id, from)));
}

/** Tells that this call has stored its reply at a face that has ended. */
function storedBefore(id: string, from: string | undefined): ToolResult {
  const text = `The reply to ${id} is stored on the broker's disk; the message is acked.`;
  return answer(text, { replied_to: id, ...(from !== undefined && { to: from }) });
}

/** Refuses a reply that an agent meant for one of several messages, of which some may have come later. */
function severalSenders(id: string): SignalboxError {
  return new SignalboxError(
    'ambiguous',
    `several agents sent messages with the id '${id}', and the process that read them has ended; say which with 'from'`,
    { details: { mayBeStored: true } },
  );
}

function answerable({ held }: Inbox, { id, from, answered, isResumable }: Wanted): HeldMessage {
  const found = held
    .withId(id, from)
    .filter(({ offeredBy, isLive }) => offeredBy !== undefined || (isResumable && isLive));
  const [one] = found;
  if (!one) {
    const done = answeredKey(answered, id, from);
    if (done !== undefined) throw repeated(id, done.slice(id.length + 1));
    const named = held
      .unacked()
      .slice(0, maxNamed)
      .map(({ message }) => `${message.id} (${message.kind})`);
    const rest = named.length > 0 ? `you hold: ${named.join(', ')}` : 'you hold none; read the inbox first';
    throw new SignalboxError(
      'not_held',
      `no message with the id '${id}' was read by you and waits for its ack; ${rest}`,
    );
  }
  if (found.length > 1) {
    const senders = found.map(({ message }) => `'${message.from.agent}'`).join(' and ');
    throw new SignalboxError(
      'ambiguous',
      `${senders} sent messages with the id '${id}'; say which with 'from'`,
    );
  }
  const { kind, from: sender } = one.message;
  if (unanswerable.has(kind)) {
    throw new SignalboxError(
      'not_a_question',
      `'${id}' is a message of kind '${kind}', and nobody waits for a reply to it; write to '${sender.agent}' with signalbox_send_message`,
    );
  }
  return one;
}

function repeated(id: string, agent: string): SignalboxError {
  const message = `'${id}' of '${agent}' was answered already, and that answer stands; to add something use signalbox_send_message`;
  return new SignalboxError('already_answered', message);
}

function keyOf(id: string, agent: string): string {
  return `${id} ${agent}`;
}

function remember(keys: Set<string>, key: string): void {
  keys.add(key);
  if (keys.size <= rememberedReplies) return;
  const [oldest] = keys;
  if (oldest !== undefined) keys.delete(oldest);
}
