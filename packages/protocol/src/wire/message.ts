import { z } from 'zod';
import { seqSchema } from '../names/name-schemas.ts';

export const senderSchema = z.object({ agent: z.string(), address: z.string(), role: z.string() }).meta({
  id: 'Sender',
  title: 'sender',
  description: 'The sender of a message, as its token proves it to the broker.',
});

/** The sender of a message, as its token proves it to the broker. */
export type Sender = z.infer<typeof senderSchema>;

export const messageHeaderSchema = z.object({
  id: z.string().describe('The id that its sender gave it.'),
  seq: seqSchema.optional().describe('Absent on ephemeral messages.'),
  from: senderSchema,
  to: z.string().describe('The address that it was sent to.'),
  kind: z.string(),
  correlation_id: z.string().optional().describe('The id of the request that it belongs to.'),
  created_at: z.number().describe('Epoch milliseconds of the broker’s clock; only for display.'),
  remaining_ms: z
    .number()
    .optional()
    .describe('Its lifetime that is left when it is pushed. Count it down on a monotonic clock of your own.'),
  attempt: z.int().optional().describe('2 or more when earlier attempts to handle it failed; absent before.'),
  traceparent: z.string().optional().describe('W3C trace context, passed on unread.'),
});

/** The header of a message as its recipient sees it. */
export type MessageHeader = z.infer<typeof messageHeaderSchema>;

/** A message with its opaque body text, as the client library hands it on. */
export interface Message extends MessageHeader {
  body?: string;
}
