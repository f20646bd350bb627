import { type CallRecord, messageHeaderSchema } from '@signalbox/protocol';
import { z } from 'zod';

const at = z.number();
const sender = messageHeaderSchema.shape.from;
const message = messageHeaderSchema.extend({
  created_at: z.number().optional(),
  /** The size of its body in bytes. */
  size: z.number().optional(),
});
const noticeSchema = z.discriminatedUnion('what', [
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

/** An event that the broker reports. Times are epoch milliseconds of its clock. */
export type Notice = z.infer<typeof noticeSchema>;

/** One line of a tail: an event of the broker, the state of a tool call, or a gap in the tail itself. */
export type TailEvent =
  | Notice
  | { what: 'call'; at: number; call: CallRecord }
  | { what: 'calls_missing'; at: number; code: string; message: string }
  | { what: 'disconnected' | 'reconnected'; at: number };

/** Reads the body of a notice; returns `undefined` for anything else. */
export function readNotice(body: unknown): Notice | undefined {
  if ((body as { event?: unknown } | null)?.event !== 'tail') return undefined;
  return noticeSchema.safeParse(body).data;
}
