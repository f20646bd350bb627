import { z } from 'zod';
import { seqSchema } from '../names/name-schemas.ts';

const senderTokenSchema = z
  .object({
    id: z.string(),
    approves: z
      .array(z.string())
      .optional()
      .describe('The roles on whose tool calls it decides, or patterns with `*`.'),
    issuers: z
      .array(z.string())
      .optional()
      .describe('The agents whose tokens issued it: the one that did, and those that issued that one’s.'),
    sign_in_of: z
      .string()
      .optional()
      .describe(
        'The id of the token whose holder signed in with a browser, if this is the token of that sign-in.',
      ),
  })
  .meta({
    id: 'SenderToken',
    title: 'sender token',
    description: 'The facts about a token that may decide on tool calls.',
  });

/** The token of a sender that may decide on tool calls of other agents. */
export type SenderToken = z.infer<typeof senderTokenSchema>;

/** Accepts the sender of a message. */
export const senderSchema = z
  .object({
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    token: senderTokenSchema
      .optional()
      .describe('On an ephemeral `mcp_request`, if the token has the permission `operator` or `approver`.'),
  })
  .meta({ id: 'Sender', title: 'sender', description: 'The sender of a message, as its token proves it.' });

/** The sender of a message, as its token proves it to the broker. */
export type Sender = z.infer<typeof senderSchema>;

/** The fields of a message's header, which the frame `message` and the messages of `peeked` share. */
export const messageHeaderFields = {
  id: z.string().describe('The id that its sender chose.'),
  seq: seqSchema.optional().describe('Absent on ephemeral messages.'),
  from: senderSchema,
  to: z.string(),
  kind: z.string(),
  correlation_id: z.string().optional(),
  thread: z
    .string()
    .optional()
    .describe('Its thread. A reply has that of its request. Absent: its `correlation_id`, else its `id`.'),
  created_at: z.number().describe('The broker’s clock, for display only.'),
  remaining_ms: z.number().optional().describe('Lifetime left. Count it down on a monotonic clock.'),
  attempt: z.int().optional().describe('From 2 on, after attempts that failed.'),
  since_tried_ms: z
    .number()
    .optional()
    .describe(
      'The time since a consumer last worked on it that was lost. Given when it is pushed, also if that was no failed attempt. The broker forgets it at a restart.',
    ),
  traceparent: z.string().optional(),
  group: z.string().optional().describe('The group whose members all got a copy of it: this is one of them.'),
  group_key: z.string().optional().describe('The key that its sender gave it, if it was sent to a group.'),
  first_attempt: z
    .string()
    .optional()
    .describe(
      'The `traceparent` that the first consumer which was lost or failed while it worked on it told with `working`. Given with `since_tried_ms`, if it told one.',
    ),
};

/** Returns the thread that a message belongs to, by its header. */
export function threadOf({
  thread,
  correlation_id,
  id,
}: {
  thread?: string | undefined;
  correlation_id?: string | undefined;
  id: string;
}): string {
  return thread ?? correlation_id ?? id;
}

/** Accepts the header of a message as its recipient sees it. */
export const messageHeaderSchema = z.object(messageHeaderFields);

/** The header of a message as its recipient sees it. */
export type MessageHeader = z.infer<typeof messageHeaderSchema>;

/** A message with its opaque body text, as the client library hands it on. */
export interface Message extends MessageHeader {
  /** The text of the body. Absent if the message has none. */
  body?: string;
}

/** A message that waits in an inbox. `working`: the holder of the inbox has handed it to a handler or a reader. */
export interface PeekedMessage extends Message {
  working?: true;
}
