import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** The metadata of a stored message, settled or not, without its body. Times in epoch milliseconds. */
export type HistoryMessage = AdminResult<'history'>['messages'][number];

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
    const page: AdminResult<'history'> = await client.admin('history', {
      since,
      agent,
      correlation_id: correlationId,
      cursor,
      limit: Math.min(pageSize, limit - messages.length),
    });
    messages.push(...page.messages);
    ({ cursor } = page);
  } while (cursor !== undefined && messages.length < limit);
  return { messages, more: cursor !== undefined };
}
