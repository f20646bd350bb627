import type { Outgoing } from '@signalbox/client';
import { replyIdOf, SignalboxError } from '@signalbox/protocol';
import { bodyFields } from '../message-arguments.ts';
import { type CheckedOutMessage, remainingMs } from './checked-out-messages.ts';

/** The arguments of the tool that answers a message. */
export const replyFields = {
  message_id: { type: 'string', description: 'The id in the header of the message.', maxLength: 64 },
  from: {
    type: 'string',
    description: 'Its sender; needed only where two messages have the same id.',
    maxLength: 256,
  },
  ...bodyFields,
} as const;

/** The time by which a reply outlives its request, in milliseconds, so that an asker that reconnects late still finds it. */
const graceMs = 5 * 60_000;
/** The refusals of a message that was answered before. */
const saysAnswered = new Set(['already_answered', 'id_conflict']);
/** The kinds of messages to which no reply is expected. */
const unanswerable = new Set(['note', 'reply', 'event', 'progress', 'undeliverable', 'mcp_reply']);

/** Makes the message that answers a held one. `id` is that of the call, if the call may be repeated. `now` is monotonic. */
export function replyTo(
  mail: CheckedOutMessage,
  { body, id }: { body: unknown; id: string | undefined },
  now: number,
): Outgoing {
  const leftMs = remainingMs(mail, now);
  return {
    to: mail.message.from.address,
    kind: 'reply',
    // The id of the call distinguishes its reply from that of another call with another text.
    id: id ?? replyIdOf(mail.message.id),
    correlationId: mail.message.id,
    body,
    traceparent: mail.traceparent,
    ...(leftMs !== undefined && { ttlMs: Math.max(0, leftMs) + graceMs }),
  };
}

/** Returns true if the broker refused a reply because the message has one. Then the broker has acked the message. */
export function isAnsweredBefore(thrown: unknown): boolean {
  return thrown instanceof SignalboxError && saysAnswered.has(thrown.code);
}

/** Makes the refusal of a reply to an id that several senders gave to their messages. */
export function ambiguous(id: string, found: readonly CheckedOutMessage[]): SignalboxError {
  const senders = found.map(({ message }) => `'${message.from.agent}'`).join(' and ');
  const message = `${senders} sent messages with the id '${id}'; say which with 'from'`;
  return new SignalboxError('ambiguous', message);
}

/** Throws `not_a_question` unless a message of this kind may be answered. */
export function requireAnswerable({ message: { id, kind, from } }: CheckedOutMessage): void {
  if (!unanswerable.has(kind)) return;
  throw new SignalboxError(
    'not_a_question',
    `'${id}' is a message of kind '${kind}', and nobody waits for a reply to it; write to '${from.agent}' with signalbox_send_message`,
  );
}

/** Makes the refusal of a second answer. */
export function repeated(id: string, agent: string): SignalboxError {
  const message = `'${id}' of '${agent}' was answered already, and that answer stands; to add something use signalbox_send_message`;
  return new SignalboxError('already_answered', message);
}
