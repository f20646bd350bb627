import type { BrokerClient, Log, Subscription } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';

/**
 * Acks and logs what is in the orchestrator's inbox besides requests, so that nobody can fill its window with
 * messages that no one takes. Ends with the subscription.
 */
export async function retireStrays(client: BrokerClient, strays: Subscription, log: Log): Promise<void> {
  try {
    for await (const { id, kind, from, seq } of strays.messages) {
      if (kind === 'mcp_request' || seq === undefined) continue;
      log({ event: 'stray_message', id, kind, from: from.agent });
      client.ack([seq]).catch((thrown) => log({ event: 'ack_failed', id, reason: messageOf(thrown) }));
    }
  } catch (thrown) {
    log({ event: 'strays_not_taken', reason: messageOf(thrown) });
  }
}
