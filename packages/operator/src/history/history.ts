import type { BrokerClient } from '@signalbox/client';
import { z } from 'zod';

const historyMessageSchema = z.object({
  seq: z.int(),
  inbox: z.string(),
  id: z.string(),
  from_agent: z.string(),
  kind: z.string(),
  correlation_id: z.string().optional(),
  created_at: z.number(),
  settled_at: z.number().optional(),
  outcome: z.string().optional(),
  reason: z.string().optional(),
  size: z.int(),
});

/** The metadata of a stored message, settled or not, without its body. Times in epoch milliseconds. */
export type HistoryMessage = z.infer<typeof historyMessageSchema>;

const pageSchema = z.object({ messages: z.array(historyMessageSchema), cursor: z.string().optional() });

const auditRowSchema = z.object({
  minute: z.number(),
  token_id: z.string().optional(),
  agent: z.string().optional(),
  code: z.string(),
  count: z.int(),
  first_at: z.number(),
  last_at: z.number(),
  detail: z.string(),
});

/** The refusals, token events or policy changes of one token, agent and code within one minute. */
export type AuditRow = z.infer<typeof auditRowSchema>;

const auditSchema = z.object({ rows: z.array(auditRowSchema) });

const pageSize = 200;

/** Selects a part of the history. `since` is a time in epoch milliseconds. */
export interface HistoryQuery {
  since: number;
  /** Only messages from or to this agent. */
  agent?: string;
  /** Only the request with this id, and its answers. */
  correlationId?: string;
  limit: number;
}

/** Reads the messages since a time, oldest first; `more` says whether there are others beyond the limit. */
export async function readHistory(
  client: BrokerClient,
  { since, agent, correlationId, limit }: HistoryQuery,
): Promise<{ messages: HistoryMessage[]; more: boolean }> {
  const messages: HistoryMessage[] = [];
  let cursor: string | undefined;
  do {
    const page = pageSchema.parse(
      await client.admin('history', {
        since,
        ...(agent !== undefined && { agent }),
        ...(correlationId !== undefined && { correlation_id: correlationId }),
        ...(cursor !== undefined && { cursor }),
        limit: Math.min(pageSize, limit - messages.length),
      }),
    );
    messages.push(...page.messages);
    ({ cursor } = page);
  } while (cursor !== undefined && messages.length < limit);
  return { messages, more: cursor !== undefined };
}

/** Reads the audit rows since a time in epoch milliseconds, oldest first; the broker gives at most 1,000. */
export async function readAudit(
  client: BrokerClient,
  query: { since: number; limit: number },
): Promise<AuditRow[]> {
  return auditSchema.parse(await client.admin('audit', query)).rows;
}
