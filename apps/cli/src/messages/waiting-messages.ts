import type { BrokerClient } from '@signalbox/client';
import { type Message, SignalboxError } from '@signalbox/protocol';

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
  for await (const message of waiting(client, address, limit + 1)) messages.push(message);
  return { messages: messages.slice(0, limit), more: messages.length > limit };
}

/**
 * Finds the message with this id that waits at an address, without taking it. Two senders may use the same id: `from` says whose
 * message is meant. Rejects with `unknown_message`, or with `usage` if there are several.
 */
export async function findWaiting(
  client: BrokerClient,
  address: string,
  { id, from }: { id: string; from?: string },
): Promise<Message> {
  const found: Message[] = [];
  for await (const message of waiting(client, address)) {
    if (message.id === id && (from === undefined || message.from.agent === from)) found.push(message);
  }
  const [message, ...others] = found;
  if (!message) throw noSuchMessage(address, id, from);
  if (others.length > 0) {
    const senders = found.map((one) => one.from.agent).join(', ');
    throw new SignalboxError('usage', `${found.length} messages have the id '${id}', from ${senders}`, {
      details: { hint: 'say whose you mean with --from NAME' },
    });
  }
  return message;
}

function noSuchMessage(address: string, id: string, from: string | undefined): SignalboxError {
  const sender = from === undefined ? '' : ` from '${from}'`;
  return new SignalboxError(
    'unknown_message',
    `no message '${id}'${sender} waits in the inbox '${address}'`,
    {
      details: {
        hint: 'signalbox inbox lists what waits; a message that was taken or answered, or has expired, is gone',
      },
    },
  );
}

async function* waiting(
  client: BrokerClient,
  address: string,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Message> {
  let after: number | undefined;
  for (let left = limit; left > 0; ) {
    const page = await client.peek({
      address,
      limit: Math.min(left, maxPage),
      ...(after !== undefined && { after }),
    });
    if (page.length === 0) return;
    yield* page;
    left -= page.length;
    after = page.at(-1)?.seq;
  }
}
