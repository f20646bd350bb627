import { z } from 'zod';
import { agentIdSchema, idSchema, seqSchema } from '../../names/name-schemas.ts';
import { frameLimits } from '../frame-limits.ts';
import { filterText, pageLimit, wholeNumber } from './params.ts';

/** Describes the operations on the threads of messages whose bodies are kept. */
export function threadOperations() {
  const message = keptMessageSchema();
  const keeps = z
    .object({ kinds: z.array(z.string()), age_ms: z.number(), bytes: z.number() })
    .optional()
    .describe('What the broker keeps: the setting `broker.keepBodies`. Absent: nothing.');
  return {
    threads: {
      meaning:
        'Lists threads with messages whose bodies are kept, the one with the newest message first. All conditions hold for one message.',
      params: z.object({
        agent: agentIdSchema.optional().describe('Only those with a message from or to this agent.'),
        search: filterText()
          .optional()
          .describe(
            'Only those with a message whose text has, for each of these words, one that begins with it.',
          ),
        cursor: wholeNumber(1).optional().describe('Goes on after the page that gave it.'),
        limit: pageLimit(50),
      }),
      result: z.object({
        threads: z.array(threadSchema(message)),
        cursor: z.number().optional().describe('Present if there may be more.'),
        keeps,
      }),
    },
    thread: {
      meaning: 'Reads the messages of a thread whose bodies are kept, in order.',
      params: z.object({
        thread: idSchema,
        after: wholeNumber(0).optional().describe('Only those with a higher sequence number.'),
        limit: pageLimit(100),
      }),
      result: z.object({ messages: z.array(message), more: z.boolean(), keeps }),
    },
    texts: {
      meaning: 'Reads the beginnings of texts that are kept, by the sequence numbers of their messages.',
      params: z.object({ seqs: z.array(seqSchema).max(frameLimits.adminItems) }),
      result: z.object({
        texts: z.array(
          z.object({ seq: seqSchema, text: z.string().describe('At most 500 characters of its text.') }),
        ),
        keeps,
      }),
    },
    thread_forget: {
      meaning: 'Forgets the bodies of a thread that are kept. Messages that wait keep theirs.',
      params: z.object({ thread: idSchema }),
      result: z.object({ forgotten: z.int() }),
    },
  };
}

function threadSchema(message: ReturnType<typeof keptMessageSchema>) {
  return z
    .object({
      thread: z.string(),
      messages: z.int().describe('The number of its messages; 1000 means as many or more.'),
      since: z.number().describe('When the first of them was created.'),
      newest: message.describe('The newest that was asked for, without its body.'),
    })
    .meta({ id: 'Thread', title: 'thread', description: 'Messages that belong together.' });
}

function keptMessageSchema() {
  return z
    .object({
      seq: seqSchema,
      id: z.string(),
      from_agent: z.string(),
      to: z.string().describe('The inbox, or the group whose members all got it.'),
      kind: z.string(),
      correlation_id: z.string().optional(),
      created_at: z.number(),
      size: z.int().describe('Bytes of its body.'),
      body: z.string().optional().describe('Absent in lists, and for callers who may not read bodies.'),
      text: z
        .string()
        .optional()
        .describe(
          'In lists, for those who may read bodies: at most 500 characters of a body that is a text, or that has the field `text`.',
        ),
      state: z
        .string()
        .optional()
        .describe('`pending`, `acked`, `expired`, `cancelled` or `dead`. Absent if that is forgotten.'),
    })
    .meta({ id: 'KeptMessage', title: 'kept message', description: 'A message whose body is kept.' });
}
