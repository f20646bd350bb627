import { z } from 'zod';
import { seqSchema } from '../../names/name-schemas.ts';
import { auditEntryKinds } from '../audit-codes.ts';
import { messageHeaderFields } from '../message.ts';
import { filterText, pageLimit, wholeNumber } from './params.ts';

const kindsError = `must be a list of some of ${auditEntryKinds.join(', ')}`;

/** Describes the operations that report the content and the history of the broker. */
export function reportOperations() {
  return {
    history: {
      meaning: 'Lists messages by `created_at`, as far back as settled messages are remembered.',
      params: z.object({
        since: wholeNumber(0),
        until: wholeNumber(0).optional(),
        agent: filterText().optional().describe('Only messages that this agent sent or got.'),
        correlation_id: filterText().optional().describe('Only the request of this id and its answers.'),
        newest_first: z
          .boolean({ error: 'must be true or false' })
          .optional()
          .describe('True: the newest message first, and older ones with each page.'),
        limit: pageLimit(200),
        cursor: filterText().optional().describe('The cursor that the previous page gave.'),
      }),
      result: z.object({
        messages: z.array(historyMessageSchema()),
        cursor: z.string().optional().describe('Asks for the next page. Absent on the last one.'),
      }),
    },
    audit: {
      meaning:
        'Lists entries of the audit log in the order in which they were recorded, from a time on; with `before` in the reverse order. An orchestrator gets its own reports.',
      params: z.object({
        since: wholeNumber(0),
        kinds: z
          .array(z.enum(auditEntryKinds), { error: kindsError })
          .min(1, { error: kindsError })
          .optional()
          .describe('Only entries of these kinds.'),
        after: wholeNumber(0).optional().describe('Only rows with a higher number.'),
        before: wholeNumber(1).optional().describe('Only rows with a lower number, the highest first.'),
        limit: pageLimit(200),
      }),
      result: z.object({
        rows: z.array(auditRowSchema()),
        next: z.int().optional().describe('The number of the last row, if more may follow.'),
      }),
    },
    audit_chain: {
      meaning:
        'Reads the audit log of one kind in the order of its chain, with the ends of the chain at that moment, so that it can be checked.',
      params: z.object({
        kind: z.enum(auditEntryKinds, { error: `must be one of ${auditEntryKinds.join(', ')}` }),
        after: wholeNumber(0).optional().describe('Only rows with a higher number.'),
        limit: pageLimit(200),
      }),
      result: z.object({ rows: z.array(auditRowSchema()), chain: auditChainSchema() }),
    },
    waiting: {
      meaning:
        'Lists agents in whose own inboxes messages wait, in the order of their names. Sub-inboxes are not counted.',
      params: z.object({
        connected: z
          .boolean({ error: 'must be true or false' })
          .optional()
          .describe('Only agents that are connected, or only those that are not.'),
        limit: pageLimit(200).describe('Agents that are looked at. Default: 200. A page may hold fewer.'),
        cursor: filterText().optional().describe('The cursor that the previous page gave.'),
      }),
      result: z.object({
        agents: z.array(waitingAgentSchema()),
        cursor: z.string().optional().describe('Asks for the next page. Absent on the last one.'),
      }),
    },
    failures: {
      meaning:
        'Lists the agents whose programs ended with a failure in the last 24 h, as `announce` told, and have not come back. The newest is the last one.',
      params: z.object({}),
      result: z.object({
        agents: z
          .array(
            z
              .object({
                agent: z.string(),
                role: z.string(),
                failed_at: z.number(),
                reason: z.string().describe('How it ended, as its supervisor or the program itself said.'),
              })
              .meta({
                id: 'FailedProgram',
                title: 'failed program',
                description: 'An agent whose program ended with a failure.',
              }),
          )
          .describe('At most 1,000.'),
      }),
    },
    stats: {
      meaning: 'Counts what the broker holds.',
      params: z.object({}),
      result: z.object({
        version: z.string().describe('The version of the broker.'),
        started_at: z.number(),
        broker: z.string().optional().describe('The name of the broker. Absent if only one uses the store.'),
        brokers: z
          .array(z.object({ name: z.string(), since: z.number(), linked: z.boolean().optional() }))
          .optional()
          .describe(
            'The brokers that live on the store. The first one is the oldest, and does for all what is needed once. `linked`: directly connected; absent for this one, and where one of both takes no such connections.',
          ),
        connections: z.int(),
        leases: z.int(),
        pending: z.int().describe('Pending messages of all inboxes.'),
        oldest_pending_at: z
          .number()
          .optional()
          .describe('When the oldest of them was created. Absent if none is pending.'),
        dead_letters: z.int(),
        scheduled: z.int().describe('Messages that are not due.'),
        used_bytes: z.number(),
        max_bytes: z.number(),
        disk_bytes: z.number().describe('Bytes of the databases in the data directory, with their logs.'),
        free_bytes: z.number().describe('Bytes that are free on the disk of the data directory.'),
        receipt_means: z.string(),
        activity: activitySchema(),
      }),
    },
  };
}

function activitySchema() {
  const latency = (meaning: string) =>
    z
      .object({
        count: z.int(),
        sum_ms: z.number(),
        p50_ms: z.number().optional().describe('Absent before the first.'),
        p95_ms: z.number().optional(),
      })
      .describe(meaning);
  return z
    .object({
      stored: z.int().describe('Messages of agents that were stored.'),
      delivered: z.int().describe('Messages that were pushed to a consumer.'),
      redelivered: z.int(),
      settled: z.int(),
      commits: latency('Commits to the store, and how long they took.'),
      syncs: latency('Syncs of what was written to the disk, and how long they took.'),
    })
    .meta({
      id: 'BrokerActivity',
      title: 'activity',
      description: 'The counts and times of the broker since it started. Percentiles are read from buckets.',
    });
}

function waitingAgentSchema() {
  return z
    .object({
      agent: z.string(),
      roles: z
        .array(z.string())
        .describe(
          'The roles of its valid tokens; none if it cannot connect. Of a group, those of its members.',
        ),
      connected: z.boolean(),
      pending: z.int().describe('Messages that wait in its inbox.'),
      oldest_at: z.number().describe('When the first of them was created.'),
    })
    .meta({
      id: 'WaitingAgent',
      title: 'waiting agent',
      description: 'An agent with messages in its inbox, or a group, which is never connected.',
    });
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
      thread: messageHeaderFields.thread,
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
      kind: z.enum(auditEntryKinds),
      number: z.int(),
      entry: z.string().describe('An audit entry as JSON text, below.'),
      hash: z.string().describe('The SHA-256 of that text in UTF-8, in hex.'),
    })
    .meta({ id: 'AuditRow', title: 'audit row', description: 'An entry of the audit log with its hash.' });
}

function auditChainSchema() {
  const end = z.object({ number: z.int(), hash: z.string() });
  return z
    .object({
      kind: z.enum(auditEntryKinds),
      dropped: end.describe(
        'The last row that was dropped to keep within the budget. The number 0 and 64 zeros: none.',
      ),
      last: end.describe('The last row.'),
      rows: z.int(),
      bytes: z.number(),
    })
    .meta({
      id: 'AuditChain',
      title: 'audit chain',
      description: 'The ends of the chain of one kind of entries.',
    });
}
