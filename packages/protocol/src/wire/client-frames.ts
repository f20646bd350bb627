import type { z } from 'zod';
import { lazySchema } from '../lazy-schema.ts';
import { addressSchema, idSchema, kindSchema, roleSchema, seqSchema } from './message.ts';
import { isShortJson } from './short-json.ts';

const requestId = idSchema;
const seqs = lazySchema((z) => z.array(seqSchema).min(1).max(10_000));
const setByBroker = lazySchema((z) =>
  z.undefined({ error: 'is set by the broker; leave it out' }).optional(),
);
const claim = lazySchema((z) =>
  z.union([
    z.string(),
    z.object({ agent: z.string().optional(), address: z.string().optional(), role: z.string().optional() }),
  ]),
);

const helloSchema = lazySchema((z) =>
  z.object({
    type: z.literal('hello'),
    agent: addressSchema,
    token: z.string().max(256).optional(),
    protocol: z.int(),
    role: z.string().optional(),
  }),
);

const deliverSchema = lazySchema((z) =>
  z.object({
    type: z.literal('deliver'),
    to: addressSchema,
    id: idSchema,
    kind: kindSchema,
    correlation_id: idSchema.optional(),
    ttl_ms: z.int().positive().optional(),
    traceparent: z.string().max(128).optional(),
    settles: seqSchema.optional(),
    ephemeral: z.boolean().optional(),
    from: claim.optional(),
    role: z.string().optional(),
    attempt: setByBroker,
    seq: setByBroker,
  }),
);

const subscribeSchema = lazySchema((z) =>
  z.object({
    type: z.literal('subscribe'),
    request_id: requestId,
    window: z.int().min(1).max(10_000).optional(),
    window_bytes: z.int().min(1).optional(),
    journal_id: idSchema.optional(),
    ack_deadline_ms: z.int().min(100).max(3_600_000).optional(),
  }),
);

const ackSchema = lazySchema((z) =>
  z.object({ type: z.literal('ack'), seqs, request_id: requestId.optional() }),
);

const nackSchema = lazySchema((z) =>
  z.object({
    type: z.literal('nack'),
    seqs,
    request_id: requestId.optional(),
    delay_ms: z.int().min(0).max(86_400_000).optional(),
    dead: z.boolean().optional(),
    reason: z.string().max(500).optional(),
  }),
);

const workingSchema = lazySchema((z) => z.object({ type: z.literal('working'), seqs }));

const cancelSchema = lazySchema((z) =>
  z.object({ type: z.literal('cancel'), to: addressSchema, correlation_id: idSchema }),
);

const announceSchema = lazySchema((z) =>
  z.object({
    type: z.literal('announce'),
    status: z.unknown().refine(isShortJson, { error: 'must be JSON of at most 2048 characters' }),
  }),
);

const listConnectedSchema = lazySchema((z) =>
  z.object({
    type: z.literal('list_connected'),
    request_id: requestId,
    role: roleSchema.optional(),
    cursor: z.string().max(256).optional(),
    with_status: z.boolean().optional(),
  }),
);

const peekSchema = lazySchema((z) =>
  z.object({
    type: z.literal('peek'),
    request_id: requestId,
    address: addressSchema.optional(),
    after: z.int().min(0).optional(),
    limit: z.int().min(1).max(1000).optional(),
  }),
);

const adminSchema = lazySchema((z) =>
  z.object({
    type: z.literal('admin'),
    request_id: requestId,
    op: z.string().min(1).max(64),
    params: z.record(z.string(), z.unknown()).optional(),
  }),
);

const schemas = {
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

/** Every frame a client may send, without its body line. */
export type ClientFrame =
  | HelloFrame
  | DeliverFrame
  | SubscribeFrame
  | AckFrame
  | NackFrame
  | WorkingFrame
  | CancelFrame
  | AnnounceFrame
  | ListConnectedFrame
  | PeekFrame
  | AdminFrame;

export const clientFrameSchemas: {
  [T in ClientFrame['type']]: z.ZodType<Extract<ClientFrame, { type: T }>>;
} = schemas;
