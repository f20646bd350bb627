import { z } from 'zod';
import { brokerLimits } from './limits.ts';
import { messageHeaderSchema, senderSchema } from './message.ts';

const requestId = z.string().describe('The one of the frame that this answers.');

/** A broker may tell limits that this version does not know, and leave out some that it does. */
const limitsSchema = z
  .object(
    Object.fromEntries(
      Object.entries(brokerLimits).map(([name, { meaning }]) => [
        name,
        z.number().optional().describe(meaning),
      ]),
    ) as Record<keyof typeof brokerLimits, z.ZodOptional<z.ZodNumber>>,
  )
  .catchall(z.number())
  .meta({ id: 'Limits', title: 'limits', description: 'The limits of this broker.' });

const welcomeSchema = z
  .object({
    type: z.literal('welcome'),
    broker_id: z.string(),
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    limits: limitsSchema,
    heartbeat_ms: z.number().describe('The time between two pings. A connection that missed two is closed.'),
    receipt_means: z
      .string()
      .describe('`fsynced`, `written` or `replicated`: what is true of a message when `delivered` is sent.'),
    dedupe_window_ms: z
      .number()
      .describe('The time after its settlement in which a repeated message is known as a duplicate.'),
  })
  .meta({ id: 'WelcomeFrame', description: 'Answers `hello` with the identity that the token gives.' });

const deliveredSchema = z
  .object({
    type: z.literal('delivered'),
    id: z.string(),
    duplicate: z.boolean().optional().describe('The message was stored before; this repeat was not.'),
  })
  .meta({
    id: 'DeliveredFrame',
    description: 'The receipt of a message. It follows the commit that holds the message.',
  });

const messageSchema = z
  .object({ type: z.literal('message'), ...messageHeaderSchema.shape })
  .meta({ id: 'MessageFrame', description: 'Pushes a message and its body to the holder of its inbox.' });

const subscribedSchema = z
  .object({
    type: z.literal('subscribed'),
    request_id: requestId,
    lease: z.string(),
    pending: z.number().describe('Messages that wait in the inbox.'),
    head_seq: z.number().describe('The greatest sequence number that the inbox has given.'),
    same_journal: z.boolean().describe('The last holder of the inbox named the same `journal_id`.'),
  })
  .meta({ id: 'SubscribedFrame', description: 'Answers `subscribe`.' });

const ackResultSchema = z
  .object({
    type: z.literal('ack_result'),
    request_id: requestId,
    accepted: z.array(z.number()),
    rejected: z.array(z.number()).describe('Sequence numbers that this connection does not hold.'),
  })
  .meta({
    id: 'AckResultFrame',
    description: 'Answers an `ack` or `nack` that asked for it, after the commit.',
  });

const cancelNoticeSchema = z
  .object({
    type: z.literal('cancel'),
    correlation_id: z.string().describe('The id of the request.'),
    from: senderSchema,
  })
  .meta({ id: 'CancelNotice', description: 'Tells the holder of a request that its sender called it off.' });

const connectedAgentSchema = z
  .object({
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    connected_at: z.number().describe('Epoch milliseconds of the broker’s clock.'),
    status: z.unknown().optional().describe('The status that the connection announced.'),
    inbox: z
      .object({ unread: z.int().min(0), held: z.int().min(0) })
      .optional()
      .describe(
        'Messages that wait in the agent’s own inbox, and how many of them a consumer has and did not settle yet.',
      ),
  })
  .meta({ id: 'ConnectedAgent', title: 'connected agent', description: 'One connection.' });

const connectedSchema = z
  .object({
    type: z.literal('connected'),
    request_id: requestId,
    agents: z.array(connectedAgentSchema),
    cursor: z.string().optional().describe('There if a next page follows.'),
  })
  .meta({ id: 'ConnectedFrame', description: 'Answers `list_connected`, with one entry per connection.' });

const peekedSchema = z
  .object({
    type: z.literal('peeked'),
    request_id: requestId,
    messages: z.array(
      z.object({ ...messageHeaderSchema.shape, body: z.string().optional() }).meta({
        id: 'PeekedMessage',
        title: 'peeked message',
        description: 'A message header with its body as a string.',
      }),
    ),
  })
  .meta({
    id: 'PeekedFrame',
    description: 'Answers `peek` with at most 1 MiB of bodies, or with one message.',
  });

const adminResultSchema = z
  .object({ type: z.literal('admin_result'), request_id: requestId, result: z.unknown() })
  .meta({ id: 'AdminResultFrame', description: 'Answers `admin`.' });

const leaseLostSchema = z
  .object({
    type: z.literal('lease_lost'),
    reason: z.string().describe('`taken_over`: another connection subscribed.'),
  })
  .meta({ id: 'LeaseLostFrame', description: 'Tells a connection that it no longer holds its inbox.' });

const goingAwaySchema = z
  .object({ type: z.literal('going_away'), reconnect_after_ms: z.number() })
  .meta({ id: 'GoingAwayFrame', description: 'Announces that the broker shuts down.' });

const errorSchema = z
  .object({
    type: z.literal('error'),
    code: z.string().describe('A code of section 8.'),
    message: z.string().describe('A text for people.'),
    field: z.string().optional().describe('The field that is at fault.'),
    id: z.string().optional().describe('The one of the frame that was refused.'),
    request_id: z.string().optional().describe('The one of the frame that was refused.'),
    retryable: z.boolean().describe('The same frame may succeed later.'),
    retry_after_ms: z.number().optional(),
  })
  .meta({ id: 'ErrorFrame', description: 'Refuses a frame.' });

/** The schema of each frame that the broker sends, by its `type`. A body line is not part of it. */
export const brokerFrameSchemas = {
  welcome: welcomeSchema,
  delivered: deliveredSchema,
  message: messageSchema,
  subscribed: subscribedSchema,
  ack_result: ackResultSchema,
  cancel: cancelNoticeSchema,
  connected: connectedSchema,
  peeked: peekedSchema,
  admin_result: adminResultSchema,
  lease_lost: leaseLostSchema,
  going_away: goingAwaySchema,
  error: errorSchema,
} as const;

/** A frame that the broker sends, without its body line. */
export type BrokerFrame = z.infer<(typeof brokerFrameSchemas)[keyof typeof brokerFrameSchemas]>;
export type WelcomeFrame = z.infer<typeof welcomeSchema>;
export type MessageFrame = z.infer<typeof messageSchema>;
export type SubscribedFrame = z.infer<typeof subscribedSchema>;
export type CancelNotice = z.infer<typeof cancelNoticeSchema>;
export type ErrorFrame = z.infer<typeof errorSchema>;

/**
 * One connection as `list_connected` reports it. `connected_at` is in epoch milliseconds of the broker's clock. `inbox` counts
 * the messages that wait in the agent's own inbox, and those of them that a consumer has and did not settle yet.
 */
export type ConnectedAgent = z.infer<typeof connectedAgentSchema>;
