import type { BrokerClient, Log } from '@signalbox/client';
import { bodyLimitsFor, type Message, messageOf, parseJson } from '@signalbox/protocol';
import type { Arrival } from './checked-out-messages.ts';

/**
 * Reads a message that has come. A message whose body is not JSON becomes a dead letter, and `undefined` is returned. `now` is monotonic.
 */
export function received(
  client: Pick<BrokerClient, 'nack' | 'welcome'>,
  message: Message,
  { now, log }: { now: number; log: Log },
): Arrival | undefined {
  const { seq, body } = message;
  if (seq === undefined) return undefined;
  try {
    const limits = bodyLimitsFor(client.welcome.limits.message?.bytes);
    return { seq, message, json: body === undefined ? null : parseJson(body, limits), receivedAt: now };
  } catch (thrown) {
    log({ event: 'bad_body', id: message.id, reason: messageOf(thrown) });
    void client.nack([seq], { dead: true, reason: 'bad_body' }).catch(() => {});
    return undefined;
  }
}
