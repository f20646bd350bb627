import type { z } from 'zod';
import { lazySchema } from '../lazy-schema.ts';
import { isAddress } from '../names/address.ts';
import { idPattern, kindPattern, rolePattern } from '../names/patterns.ts';

export const addressSchema = lazySchema((z) =>
  z.string().refine((text) => isAddress(text), {
    error: 'must be an agent id ([a-z0-9][a-z0-9_.-]*, at most 128 characters) or agent#sub',
  }),
);

export const idSchema = lazySchema((z) =>
  z.string().regex(idPattern, { error: 'must be 1 to 64 printable ASCII characters without spaces' }),
);

export const kindSchema = lazySchema((z) =>
  z.string().regex(kindPattern, { error: 'must be lower-case letters and underscores, at most 32' }),
);

export const roleSchema = lazySchema((z) =>
  z.string().regex(rolePattern, { error: 'must be [a-z0-9][a-z0-9_.-]*, at most 64 characters' }),
);

export const seqSchema = lazySchema((z) => z.int().positive());

/** Kinds that everybody knows; any other `[a-z][a-z_]{0,31}` may be used between agents. */
export const wellKnownKinds = [
  'task',
  'ask',
  'reply',
  'note',
  'mcp_request',
  'mcp_reply',
  'event',
  'progress',
  'undeliverable',
] as const;

/** Who sent a message, as the broker attests it. */
export const senderSchema = lazySchema((z) =>
  z.object({ agent: z.string(), address: z.string(), role: z.string() }),
);
export type Sender = z.infer<typeof senderSchema>;

/**
 * Header of a message as its recipient sees it. `seq` is the broker's, ordered within one inbox, absent on
 * ephemeral messages. `remaining_ms` is what is left of its lifetime at the moment of the push.
 */
export const messageHeaderSchema = lazySchema((z) =>
  z.object({
    id: z.string(),
    seq: seqSchema.optional(),
    from: senderSchema,
    to: z.string(),
    kind: z.string(),
    correlation_id: z.string().optional(),
    created_at: z.number(),
    remaining_ms: z.number().optional(),
    attempt: z.int().optional(),
    traceparent: z.string().optional(),
  }),
);
export type MessageHeader = z.infer<typeof messageHeaderSchema>;

/** A message with its opaque body text, as the client library hands it on. */
export interface Message extends MessageHeader {
  body?: string;
}
