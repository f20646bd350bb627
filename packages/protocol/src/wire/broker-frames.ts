import type { z } from 'zod';
import { lazySchema } from '../lazy-schema.ts';
import { messageHeaderSchema, senderSchema } from './message.ts';

const limitsSchema = lazySchema((z) => z.record(z.string(), z.number()));

const welcomeSchema = lazySchema((z) =>
  z.object({
    type: z.literal('welcome'),
    broker_id: z.string(),
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    limits: limitsSchema,
    heartbeat_ms: z.number(),
    receipt_means: z.string(),
    dedupe_window_ms: z.number(),
  }),
);
const deliveredSchema = lazySchema((z) =>
  z.object({
    type: z.literal('delivered'),
    id: z.string(),
    duplicate: z.boolean().optional(),
  }),
);
const messageSchema = lazySchema((z) => messageHeaderSchema.extend({ type: z.literal('message') }));
const subscribedSchema = lazySchema((z) =>
  z.object({
    type: z.literal('subscribed'),
    request_id: z.string(),
    lease: z.string(),
    pending: z.number(),
    head_seq: z.number(),
    same_journal: z.boolean(),
  }),
);
const ackResultSchema = lazySchema((z) =>
  z.object({
    type: z.literal('ack_result'),
    request_id: z.string(),
    accepted: z.array(z.number()),
    rejected: z.array(z.number()),
  }),
);
const cancelNoticeSchema = lazySchema((z) =>
  z.object({
    type: z.literal('cancel'),
    correlation_id: z.string(),
    from: senderSchema,
  }),
);
const connectedAgentSchema = lazySchema((z) =>
  z.object({
    agent: z.string(),
    address: z.string(),
    role: z.string(),
    connected_at: z.number(),
    status: z.unknown().optional(),
    inbox: z.object({ unread: z.int().min(0), held: z.int().min(0) }).optional(),
  }),
);
const connectedSchema = lazySchema((z) =>
  z.object({
    type: z.literal('connected'),
    request_id: z.string(),
    agents: z.array(connectedAgentSchema),
    cursor: z.string().optional(),
  }),
);
const peekedSchema = lazySchema((z) =>
  z.object({
    type: z.literal('peeked'),
    request_id: z.string(),
    messages: z.array(messageHeaderSchema.extend({ body: z.string().optional() })),
  }),
);
const adminResultSchema = lazySchema((z) =>
  z.object({
    type: z.literal('admin_result'),
    request_id: z.string(),
    result: z.unknown(),
  }),
);
const leaseLostSchema = lazySchema((z) =>
  z.object({
    type: z.literal('lease_lost'),
    reason: z.string(),
  }),
);
const goingAwaySchema = lazySchema((z) =>
  z.object({
    type: z.literal('going_away'),
    reconnect_after_ms: z.number(),
  }),
);
const errorSchema = lazySchema((z) =>
  z.object({
    type: z.literal('error'),
    code: z.string(),
    message: z.string(),
    field: z.string().optional(),
    id: z.string().optional(),
    request_id: z.string().optional(),
    retryable: z.boolean(),
    retry_after_ms: z.number().optional(),
  }),
);

/** Every frame the broker sends, without its body line. */
export const brokerFrameSchema = lazySchema((z) =>
  z.discriminatedUnion('type', [
    welcomeSchema,
    deliveredSchema,
    messageSchema,
    subscribedSchema,
    ackResultSchema,
    cancelNoticeSchema,
    connectedSchema,
    peekedSchema,
    adminResultSchema,
    leaseLostSchema,
    goingAwaySchema,
    errorSchema,
  ]),
);

export type BrokerFrame = z.infer<typeof brokerFrameSchema>;
export type WelcomeFrame = z.infer<typeof welcomeSchema>;
export type MessageFrame = z.infer<typeof messageSchema>;
export type SubscribedFrame = z.infer<typeof subscribedSchema>;
export type CancelNotice = z.infer<typeof cancelNoticeSchema>;
export type ErrorFrame = z.infer<typeof errorSchema>;

/**
 * One connection as `list_connected` reports it. `connected_at` in epoch milliseconds of the broker's clock. `inbox`: how
 * many messages wait in its agent's own inbox, and how many of them a consumer has and did not settle yet.
 */
export type ConnectedAgent = z.infer<typeof connectedAgentSchema>;
