import { z } from 'zod';
import { addressSchema, idSchema, kindSchema, roleSchema, seqSchema } from '../names/name-schemas.ts';
import { frameLimits } from './limits.ts';

const requestId = idSchema.describe('Comes back in the answer.');
const optionalRequestId = idSchema.optional().describe('Asks for an answer, in which it comes back.');
const seqs = z.array(seqSchema).min(1).max(frameLimits.seqs);
const setByBroker = z
  .never({ error: 'is set by the broker; leave it out' })
  .optional()
  .describe('Refused: the broker sets it.');

const helloSchema = z
  .object({
    type: z.literal('hello'),
    agent: addressSchema,
    token: z
      .string()
      .max(frameLimits.tokenLength)
      .optional()
      .describe('It may stand in the upgrade’s `Authorization: Bearer` header instead.'),
    protocol: z.int().describe('1'),
    role: z.string().optional().describe('A claim, which must be true.'),
  })
  .meta({
    id: 'HelloFrame',
    description:
      'Says who connects, as the first frame. The answer is `welcome`, or `error` before the connection is closed.',
  });

const deliverSchema = z
  .object({
    type: z.literal('deliver'),
    to: addressSchema,
    id: idSchema,
    kind: kindSchema,
    correlation_id: idSchema.optional().describe('The id of the request that it belongs to.'),
    ttl_ms: z.int().positive().optional().describe('Its lifetime; 7 days unless given.'),
    traceparent: z
      .string()
      .max(frameLimits.traceparentLength)
      .optional()
      .describe('W3C trace context, passed on unread.'),
    settles: seqSchema.optional().describe('Acks that message of the sender’s own inbox in the same commit.'),
    ephemeral: z
      .boolean()
      .optional()
      .describe('Never stored; pushed to a live holder of the inbox or refused.'),
    from: z
      .union([
        z.string(),
        z.object({
          agent: z.string().optional(),
          address: z.string().optional(),
          role: z.string().optional(),
        }),
      ])
      .optional()
      .describe('A claim, which must be true.'),
    role: z.string().optional().describe('A claim, which must be true.'),
    attempt: setByBroker,
    seq: setByBroker,
  })
  .meta({
    id: 'DeliverFrame',
    description:
      'Hands over a message and its body. The answer is `delivered` or `error`, with its `id`; an ephemeral message is answered only by an `error`.',
  });

const subscribeSchema = z
  .object({
    type: z.literal('subscribe'),
    request_id: requestId,
    window: z
      .int()
      .min(1)
      .max(frameLimits.windowMessages)
      .optional()
      .describe('Messages that may be pushed and not settled; 64 unless given.'),
    window_bytes: z
      .int()
      .min(1)
      .optional()
      .describe('Bytes of bodies that may be pushed and not settled; 8 MiB unless given.'),
    journal_id: idSchema.optional().describe('Names the consumer’s own record of what it handled.'),
    ack_deadline_ms: z
      .int()
      .min(frameLimits.minAckDeadlineMs)
      .max(frameLimits.maxAckDeadlineMs)
      .optional()
      .describe('The time in which a pushed message must be settled or renewed; unlimited unless given.'),
  })
  .meta({
    id: 'SubscribeFrame',
    description:
      'Takes the lease of the connection’s inbox. The answer is `subscribed`; then come the messages that wait, then new ones.',
  });

const ackSchema = z.object({ type: z.literal('ack'), seqs, request_id: optionalRequestId }).meta({
  id: 'AckFrame',
  description: 'Settles messages. The answer, if asked for, is `ack_result` after the commit.',
});

const nackSchema = z
  .object({
    type: z.literal('nack'),
    seqs,
    request_id: optionalRequestId,
    delay_ms: z
      .int()
      .min(0)
      .max(frameLimits.nackDelayMs)
      .optional()
      .describe('The time after which they are offered again.'),
    dead: z.boolean().optional().describe('Makes them dead letters at once.'),
    reason: z.string().max(frameLimits.nackReasonLength).optional(),
  })
  .meta({
    id: 'NackFrame',
    description: 'Gives messages back, as a failed attempt. The answer, if asked for, is `ack_result`.',
  });

const workingSchema = z.object({ type: z.literal('working'), seqs }).meta({
  id: 'WorkingFrame',
  description:
    'Says that messages were handed to a handler, and renews their ack deadlines. It has no answer.',
});

const cancelSchema = z
  .object({
    type: z.literal('cancel'),
    to: addressSchema,
    correlation_id: idSchema.describe('The id of the request.'),
  })
  .meta({ id: 'CancelFrame', description: 'Calls off a request of the sender’s own. It has no answer.' });

const announceSchema = z
  .object({
    type: z.literal('announce'),
    status: z
      .unknown()
      .refine(isShortJson, { error: `must be JSON of at most ${frameLimits.statusLength} characters` })
      .describe(`Any JSON of at most ${frameLimits.statusLength} characters.`),
  })
  .meta({
    id: 'AnnounceFrame',
    description:
      'Sets the status that `list_connected` tells of this connection, at most once a second. It has no answer but an `error`.',
  });

const listConnectedSchema = z
  .object({
    type: z.literal('list_connected'),
    request_id: requestId,
    role: roleSchema.optional().describe('Lists only agents of this role.'),
    cursor: z.string().max(frameLimits.cursorLength).optional().describe('The cursor of the page before.'),
    with_status: z.boolean().optional().describe('Asks for `status` and `inbox`.'),
  })
  .meta({ id: 'ListConnectedFrame', description: 'Asks who is connected. The answer is `connected`.' });

const peekSchema = z
  .object({
    type: z.literal('peek'),
    request_id: requestId,
    address: addressSchema.optional().describe('The connection’s own inbox unless given.'),
    after: z.int().min(0).optional().describe('Only messages with a greater sequence number.'),
    limit: z.int().min(1).max(frameLimits.peekMessages).optional().describe('100 unless given.'),
  })
  .meta({
    id: 'PeekFrame',
    description: 'Reads messages that wait, without claiming them. The answer is `peeked`.',
  });

const adminSchema = z
  .object({
    type: z.literal('admin'),
    request_id: requestId,
    op: z.string().min(1).max(frameLimits.opLength).describe('An operation of section 9.'),
    params: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({
    id: 'AdminFrame',
    description: 'Asks for an operation of administration. The answer is `admin_result`.',
  });

/** The schema of each frame that a client may send, by its `type`. A body line is not part of it. */
export const clientFrameSchemas = {
  hello: helloSchema,
  deliver: deliverSchema,
  subscribe: subscribeSchema,
  ack: ackSchema,
  nack: nackSchema,
  working: workingSchema,
  cancel: cancelSchema,
  announce: announceSchema,
  list_connected: listConnectedSchema,
  peek: peekSchema,
  admin: adminSchema,
} as const;

export type HelloFrame = z.infer<typeof helloSchema>;
export type DeliverFrame = z.infer<typeof deliverSchema>;
export type SubscribeFrame = z.infer<typeof subscribeSchema>;
export type AckFrame = z.infer<typeof ackSchema>;
export type NackFrame = z.infer<typeof nackSchema>;
export type WorkingFrame = z.infer<typeof workingSchema>;
export type CancelFrame = z.infer<typeof cancelSchema>;
export type AnnounceFrame = z.infer<typeof announceSchema>;
export type ListConnectedFrame = z.infer<typeof listConnectedSchema>;
export type PeekFrame = z.infer<typeof peekSchema>;
export type AdminFrame = z.infer<typeof adminSchema>;

/** A frame that a client may send, without its body line. */
export type ClientFrame = z.infer<(typeof clientFrameSchemas)[keyof typeof clientFrameSchemas]>;

/** A value that nests too deep to be written as JSON is refused like one that is too long. */
function isShortJson(value: unknown): boolean {
  try {
    return value !== undefined && JSON.stringify(value).length <= frameLimits.statusLength;
  } catch {
    return false;
  }
}
