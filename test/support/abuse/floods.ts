import type { WireClient } from '@signalbox/testing';

/** Resolves when everything that was sent before on this connection was handled. */
export async function handled(client: WireClient, id: string): Promise<void> {
  client.send({ type: 'list_connected', request_id: id, role: 'nobody' });
  await client.next('connected', { request_id: id });
}

export function count(client: WireClient, type: string): number {
  return client.received.filter((frame) => frame.type === type).length;
}
