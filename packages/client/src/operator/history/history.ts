import type { BrokerClient } from '@signalbox/client';
import { type AdminResult, frameLimits } from '@signalbox/protocol';

/** The metadata of a stored message, settled or not, without its body. Times in epoch milliseconds. */
export type HistoryMessage = AdminResult<'history'>['messages'][number];

/** Each page looks at all messages of the time, so that few long pages are cheaper than many short ones. */
const pageSize = frameLimits.adminItems;

/** Selects a part of the history. Times are epoch milliseconds; `until` is excluded. */
export interface HistoryQuery {
  since: number;
  until?: number;
  /** Only messages from or to this agent. */
  agent?: string;
  /** Only the request with this id, and its answers. */
  correlationId?: string;
  /** Reads the newest messages if there are more than `limit`. By default the oldest. */
  newest?: boolean;
  limit: number;
}

/** Reads the messages since a time, oldest first; `more` says whether there are others beyond the limit. */
export async function readHistory(
  client: BrokerClient,
  { since, until, agent, correlationId, newest, limit }: HistoryQuery,
): Promise<{ messages: HistoryMessage[]; more: boolean }> {
  const messages: HistoryMessage[] = [];
  let cursor: string | undefined;
  do {
    const page: AdminResult<'history'> = await client.admin('history', {
      since,
      until,
      agent,
      correlation_id: correlationId,
      newest_first: newest,
      cursor,
      limit: Math.min(pageSize, limit - messages.length),
    });
    messages.push(...page.messages);
    ({ cursor } = page);
  } while (cursor !== undefined && messages.length < limit);
  return { messages: newest ? messages.reverse() : messages, more: cursor !== undefined };
}
