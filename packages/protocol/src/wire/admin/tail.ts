import { z } from 'zod';
import { agentIdSchema, seqSchema } from '../../names/name-schemas.ts';
import { senderSchema } from '../message.ts';
import { holdSchema } from './holds.ts';

/** Describes the operation `tail`. */
export function tailOperation() {
  return {
    tail: {
      meaning:
        'Sends this connection notices, below, of what happens at all brokers on the store, until `on: false` or its end.',
      params: z.object({
        on: z.boolean({ error: 'must be true or false' }),
        agent: agentIdSchema
          .optional()
          .describe(
            'Only notices of what this agent sent, got or was refused, and of holds but for those on other agents.',
          ),
      }),
      result: z.object({ on: z.boolean(), agent: z.string().optional() }),
    },
  };
}

/** Describes the notices of `tail`, by their `what`, without the mark `event: "tail"`. They never hold a body. */
export function tailNoticeSchemas() {
  const at = z.number().describe('Epoch milliseconds of the broker’s clock.');
  const message = noticedMessageSchema();
  const refused = z
    .object({ from: senderSchema, code: z.string(), detail: z.string(), id: z.string().optional() })
    .meta({
      id: 'RefusedFrame',
      title: 'refused frame',
      description: 'A frame that was answered with `error`.',
    });
  return {
    stored: z
      .object({ what: z.literal('stored'), at, message })
      .describe('A message is written. Its sender is told when it is on disk.'),
    scheduled: z
      .object({ what: z.literal('scheduled'), at, message, due_at: z.number().describe('When it is due.') })
      .describe('A message is written that is not due. It is `stored` when it is.'),
    delivered: z
      .object({ what: z.literal('delivered'), at, message, attempt: z.number() })
      .describe('A message was handed to a consumer.'),
    settled: z
      .object({
        what: z.literal('settled'),
        at,
        message,
        outcome: z.string().describe('`acked`, `expired`, `cancelled` or `dead`.'),
        reason: z.string().optional(),
      })
      .describe('A message ended. This is on disk within 5 ms.'),
    refused: z
      .object({ what: z.literal('refused'), at, refused })
      .describe('A frame of a connection was answered with `error`.'),
    hold_placed: z
      .object({ what: z.literal('hold_placed'), at, hold: holdSchema })
      .describe('A hold was placed. It is on disk and in force.'),
    hold_ended: z
      .object({ what: z.literal('hold_ended'), at, hold: holdSchema })
      .describe('A hold was released, or its time was over. That is on disk and in force.'),
    announced: z
      .object({ what: z.literal('announced'), at, from: senderSchema, private: z.unknown().optional() })
      .describe(
        'A connection announced a status with another member `private`. Only operators get it. `worker serve` tells its running turns and kept processes there.',
      ),
    missed: z
      .object({ what: z.literal('missed'), at, missed: z.number().describe('How many.') })
      .describe(
        'Notices were dropped because this connection did not keep up, or on the way from another broker.',
      ),
    gap: z
      .object({ what: z.literal('gap'), at, broker: z.string() })
      .describe(
        'Notices of this broker may be missing: it has ended without a word, or was silent for seconds.',
      ),
  };
}

function noticedMessageSchema() {
  return z
    .object({
      id: z.string(),
      seq: seqSchema.optional().describe('Absent while it is not due.'),
      from: senderSchema,
      to: z.string(),
      kind: z.string(),
      correlation_id: z.string().optional(),
      created_at: z.number().optional(),
      size: z.number().optional().describe('Bytes of its body.'),
    })
    .meta({
      id: 'NoticedMessage',
      title: 'noticed message',
      description: 'The header of a message that a notice is about.',
    });
}

type NoticeSchemas = ReturnType<typeof tailNoticeSchemas>;

/** A notice of `tail`: what happened to a message, a frame or a hold. Times are epoch milliseconds of the broker's clock. */
export type TailNotice = z.infer<NoticeSchemas[keyof NoticeSchemas]>;

let noticeSchemas: NoticeSchemas | undefined;

/** Reads the body of an event as a notice of `tail`. Returns `undefined` for anything else. */
export function parseTailNotice(body: unknown): TailNotice | undefined {
  const { event, what } = (body ?? {}) as { event?: unknown; what?: unknown };
  if (event !== 'tail' || typeof what !== 'string') return undefined;
  noticeSchemas ??= tailNoticeSchemas();
  if (!Object.hasOwn(noticeSchemas, what)) return undefined;
  return noticeSchemas[what as keyof NoticeSchemas].safeParse(body).data;
}
