import { type CallRecord, messageHeaderSchema } from '@signalbox/protocol';
import { z } from 'zod';

const at = z.number();
const sender = messageHeaderSchema.shape.from;
const message = messageHeaderSchema.extend({
  created_at: z.number().optional(),
  /** Bytes of its body. */
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

/** What the broker tells of. Times are epoch milliseconds of its clock. */
export type Notice = z.infer<typeof noticeSchema>;

/** One line of a tail: what the broker tells, what became of a tool call, or what became of the tail itself. */
export type TailEvent =
  | Notice
  | { what: 'call'; at: number; call: CallRecord }
  | { what: 'calls_missing'; at: number; code: string; message: string }
  | { what: 'disconnected' | 'reconnected'; at: number };

/** Reads the body of a notice; `undefined` for anything else. */
export function readNotice(body: unknown): Notice | undefined {
  if ((body as { event?: unknown } | null)?.event !== 'tail') return undefined;
  return noticeSchema.safeParse(body).data;
}
