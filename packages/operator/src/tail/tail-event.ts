import { type CallRecord, messageHeaderSchema } from '@signalbox/protocol';
import { z } from 'zod';

const at = z.number();
const sender = messageHeaderSchema.shape.from;
const message = messageHeaderSchema.extend({
  created_at: z.number().optional(),
  /** The size of its body in bytes. */
  size: z.number().optional(),
});
const brokerEventSchema = z.discriminatedUnion('what', [
  z.object({ what: z.literal('stored'), at, message }),
  z.object({ what: z.literal('delivered'), at, message, attempt: z.number() }),
  z.object({
    what: z.literal('settled'),
    at,
    message,
    outcome: z.string(),
    reason: z.string().optional(),
  }),
  z.object({
    what: z.literal('refused'),
    at,
    refused: z.object({
      from: sender,
      code: z.string(),
      detail: z.string(),
      id: z.string().optional(),
    }),
  }),
  z.object({ what: z.literal('missed'), at, missed: z.number() }),
]);

/**
 * An event that the broker reports about messages: `missed` counts events that the broker left out because they came too
 * fast. Times are epoch milliseconds of its clock.
 */
export type BrokerEvent = z.infer<typeof brokerEventSchema>;

/**
 * An event of a tail: one of the broker, a new state of a tool call, or a gap in the tail. After `calls_missing` the
 * orchestrator cannot be asked; after `disconnected` nothing is reported until `reconnected`.
 */
export type TailEvent =
  | BrokerEvent
  | { what: 'call'; at: number; call: CallRecord }
  | { what: 'calls_missing'; at: number; code: string; message: string }
  | { what: 'disconnected' | 'reconnected'; at: number };

/** Reads the body of a message as an event of a tail; returns `undefined` for anything else. */
export function readBrokerEvent(body: unknown): BrokerEvent | undefined {
  if ((body as { event?: unknown } | null)?.event !== 'tail') return undefined;
  return brokerEventSchema.safeParse(body).data;
}
