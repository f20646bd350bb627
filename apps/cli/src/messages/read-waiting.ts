import type { BrokerClient } from '@signalbox/client';
import type { Message } from '@signalbox/protocol';

const maxPage = 1000;

/**
 * Reads the first `limit` messages that wait at an address, without taking them; `more` says whether others wait. The broker
 * answers with as many at a time as fit its own limit of bytes.
 */
export async function readWaiting(
  client: BrokerClient,
  address: string,
  limit: number,
): Promise<{ messages: Message[]; more: boolean }> {
  const messages: Message[] = [];
  while (messages.length <= limit) {
    const after = messages.at(-1)?.seq;
    const page = await client.peek({
      address,
      limit: Math.min(limit + 1 - messages.length, maxPage),
      ...(after !== undefined && { after }),
    });
    if (page.length === 0) return { messages, more: false };
    messages.push(...page);
  }
  return { messages: messages.slice(0, limit), more: true };
}
