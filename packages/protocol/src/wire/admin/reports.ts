import { z } from 'zod';
import { seqSchema } from '../../names/name-schemas.ts';
import { filterText, pageLimit, wholeNumber } from './params.ts';

/** Describes the operations that report what the broker holds and did. */
export function reportOperations() {
  return {
    history: {
      minting: false,
      meaning: 'Lists messages by `created_at`, as far back as settled messages are remembered.',
      params: z.object({
        since: wholeNumber(0),
        until: wholeNumber(0).optional(),
        agent: filterText().optional().describe('Only messages that this agent sent or got.'),
        correlation_id: filterText().optional().describe('Only the request of this id and its answers.'),
        limit: pageLimit(200),
        cursor: filterText().optional().describe('The cursor that the previous page gave.'),
      }),
      result: z.object({
        messages: z.array(historyMessageSchema()),
        cursor: z.string().optional().describe('Asks for the next page. Absent on the last one.'),
      }),
    },
    audit: {
      minting: false,
      meaning: 'Lists refusals, token events and other entries of the audit log, oldest first.',
      params: z.object({ since: wholeNumber(0), limit: pageLimit(200) }),
      result: z.object({ rows: z.array(auditRowSchema()) }),
    },
    stats: {
      minting: false,
      meaning: 'Counts what the broker holds.',
      params: z.object({}),
      result: z.object({
        connections: z.int(),
        leases: z.int(),
        used_bytes: z.number(),
        max_bytes: z.number(),
        receipt_means: z.string(),
      }),
    },
  };
}

function historyMessageSchema() {
  return z
    .object({
      seq: seqSchema,
      inbox: z.string(),
      id: z.string(),
      from_agent: z.string(),
      kind: z.string(),
      correlation_id: z.string().optional(),
      created_at: z.number(),
      settled_at: z.number().optional().describe('Absent while it waits, like `outcome`.'),
      outcome: z.string().optional().describe('`acked`, `expired`, `cancelled` or `dead`.'),
      reason: z.string().optional(),
      size: z.int().describe('Bytes of its body.'),
    })
    .meta({ id: 'HistoryMessage', title: 'past message', description: 'A message, settled or not.' });
}

function auditRowSchema() {
  return z
    .object({
      minute: z.number(),
      token_id: z.string().optional(),
      agent: z.string().optional(),
      code: z.string(),
      count: z.int(),
      first_at: z.number(),
      last_at: z.number(),
      detail: z.string(),
    })
    .meta({
      id: 'AuditRow',
      title: 'audit row',
      description: 'Refusals or events of one token and agent, with one code, within one minute.',
    });
}
