import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HistoryPage, HistoryQuery } from '../../history.ts';
import { PageOfHistory } from '../../history-page.ts';
import type { MessageReader } from '../log-structured/message-reader.ts';

/**
 * Reads a page of messages by time of creation. Without an index for this, storing a message costs nothing more; the reader examines all
 * messages that may be in the range, in steps between which the store continues its work.
 */
export async function readHistory(messages: MessageReader, query: HistoryQuery): Promise<HistoryPage> {
  const page = new PageOfHistory(query);
  for (const part of messages.scan(query.since)) {
    for (const message of part) page.consider(message);
    await nextTurn();
  }
  return page.result();
}
