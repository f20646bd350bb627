import type { Tool } from '@signalbox/protocol';
import { attestedText } from './attested-text.ts';
import type { CheckedOutMessage } from './checked-out-messages.ts';
import { type InboxMessage, messageSchema } from './inbox-message.ts';

const count = { type: 'integer', minimum: 0 } as const;

/** The field of messages that wait until a hold ends. */
export const heldBackField = {
  ...count,
  description: 'How many wait because an operator holds you. They come by themselves after the release.',
} as const;

/** Says how many messages wait until a hold ends. */
export function heldBackNote(heldBack: number): string | false {
  return heldBack > 0 && `Held back: ${heldBack}. An operator holds you; they come after the release.`;
}

/** The output schema of the tools that read the inbox. */
export const pageSchema = {
  type: 'object',
  properties: {
    group: { type: 'string', description: 'The group that was read.' },
    messages: { type: 'array', items: messageSchema },
    cursor: { type: 'string', description: 'Acks these messages when it is given as ack; absent with none.' },
    more: { ...count, description: 'How many more are here, beyond these.' },
    at_broker: { const: true, description: 'The broker has more than that.' },
    held_back: heldBackField,
    unacked: { ...count, description: 'How many reads have returned and nobody acked, these included.' },
    acked: count,
    ack_pending: count,
    lost: {
      type: 'array',
      items: { type: 'string' },
      description: 'Ids of messages of the group that you hold no longer; another member gets them.',
    },
    taken_back: { ...count, description: 'How many of ack you held no longer, so that they were not acked.' },
    ack_lost: {
      const: true,
      description:
        'The cursor in ack was of a process that has ended: nothing was acked, and its messages come again.',
    },
  },
  required: ['messages', 'more', 'unacked', 'acked', 'ack_pending'],
} satisfies Tool['outputSchema'];

/** The bounds of one read. A message that is larger than `bytes` comes alone. */
export interface PageLimits {
  messages: number;
  /** The total size of their bodies, as they were sent. */
  bytes: number;
}

/** Returns the first messages that fit, at least one. */
export function pageOf(waiting: readonly CheckedOutMessage[], limits: PageLimits): CheckedOutMessage[] {
  let bytes = 0;
  const end = waiting.findIndex(({ message: { body = '' } }, at) => {
    bytes += Buffer.byteLength(body);
    return at > 0 && (at >= limits.messages || bytes > limits.bytes);
  });
  return waiting.slice(0, end < 0 ? waiting.length : end);
}

/** Writes messages for a model, each under its header. */
export function pageText(messages: readonly InboxMessage[]): string {
  return messages
    .map((message, at) => attestedText(message, `message ${at + 1} of ${messages.length}`))
    .join('\n');
}
