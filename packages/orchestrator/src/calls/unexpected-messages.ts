import type { BrokerClient, Log, Subscription } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';

/**
 * Acks and logs all messages in the orchestrator's inbox that are no requests, so that they do not fill its window.
 * Resolves when the subscription ends.
 */
export async function ackUnexpectedMessages(
  client: BrokerClient,
  subscription: Subscription,
  log: Log,
): Promise<void> {
  try {
    for await (const { id, kind, from, seq } of subscription.messages) {
      if (kind === 'mcp_request' || seq === undefined) continue;
      log({ event: 'stray_message', id, kind, from: from.agent });
      client.ack([seq]).catch((thrown) => log({ event: 'ack_failed', id, reason: messageOf(thrown) }));
    }
  } catch (thrown) {
    log({ event: 'strays_not_taken', reason: messageOf(thrown) });
  }
}
