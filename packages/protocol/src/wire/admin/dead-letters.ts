import { z } from 'zod';
import { agentIdSchema, idSchema, seqSchema } from '../../names/name-schemas.ts';
import { frameLimits } from '../frame-limits.ts';
import { senderSchema } from '../message.ts';
import { filterText, pageLimit, wholeNumber } from './params.ts';

/** Describes the operations on dead letters. */
export function deadLetterOperations() {
  const seqs = seqsSchema();
  const unknown = z.array(seqSchema).describe('No dead letter has these numbers.');
  const deadLetter = deadLetterSchema();
  return {
    dead_list: {
      meaning: 'Lists dead letters by sequence number.',
      params: z.object({
        inbox: filterText().optional(),
        after: wholeNumber(0).optional().describe('Only those with a higher sequence number.'),
        limit: pageLimit(100),
      }),
      result: z.object({ messages: z.array(deadLetter), more: z.boolean() }),
    },
    dead_show: {
      meaning: 'Shows one dead letter with its body.',
      params: z.object({ seq: seqSchema }),
      result: z.object({ message: z.object({ ...deadLetter.shape, body: z.string().optional() }) }),
    },
    dead_retry: {
      meaning:
        'Stores dead letters again under the same id, with a new `seq`, no attempts and a new lifetime: 7 days, or as long as the first if that was longer or the kind is `mcp_request`.',
      params: z.object({ seqs }),
      result: z.object({
        retried: z.array(seqSchema),
        unknown,
        refused: z
          .array(z.object({ seq: seqSchema, code: z.string() }))
          .optional()
          .describe('They stay dead: their inbox can’t take them now.'),
      }),
    },
    dead_drop: {
      meaning: 'Forgets dead letters for good.',
      params: z.object({ seqs }),
      result: z.object({ dropped: z.array(seqSchema), unknown }),
    },
    stop_work: {
      meaning:
        'Stops the work of an agent on messages that its consumers have begun (`working`). They become dead letters at once with the reason `stopped by NAME`, after the agent of the caller’s token, and their holder is told by `cancel`. Tool calls are cancelled by the orchestrator instead. Refused with `not_working` if there is no such message.',
      params: z
        .object({
          agent: agentIdSchema.describe('The agent that works on them, in its own inbox or in a group.'),
          id: idSchema.optional().describe('The id of the message.'),
          sender: agentIdSchema.optional().describe('Only messages of this agent.'),
          thread: idSchema.optional().describe('The messages of this thread, in place of `id`.'),
        })
        .refine(({ id, thread }) => (id === undefined) !== (thread === undefined), {
          error: 'must name either a message or a thread',
          path: ['id'],
        }),
      result: z.object({
        stopped: z.array(
          z.object({
            seq: seqSchema,
            inbox: z.string(),
            id: z.string(),
            from: z.string(),
            kind: z.string(),
            thread: z.string(),
          }),
        ),
      }),
    },
  };
}

function seqsSchema() {
  const error = `must be a list of 1 to ${frameLimits.adminItems} sequence numbers`;
  return z.array(seqSchema, { error }).min(1, { error }).max(frameLimits.adminItems, { error });
}

function deadLetterSchema() {
  return z
    .object({
      seq: seqSchema,
      inbox: z.string(),
      id: z.string(),
      from: senderSchema,
      kind: z.string(),
      correlation_id: z.string().optional(),
      created_at: z.number(),
      dead_at: z.number(),
      attempts: z.int(),
      size: z.int().describe('Bytes of its body.'),
      reason: z.string(),
      unawaited: z
        .literal(true)
        .optional()
        .describe(
          'Nobody waits for its answer any more: it is the request of one client, which was told that it was given up.',
        ),
    })
    .meta({ id: 'DeadLetter', title: 'dead letter', description: 'A message that was given up.' });
}
