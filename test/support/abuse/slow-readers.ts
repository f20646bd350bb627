import { connectWire, type WireClient } from '@signalbox/testing';

export async function deliver(
  client: WireClient,
  to: string,
  ids: readonly string[],
  body: string,
): Promise<void> {
  for (const id of ids) client.send({ type: 'deliver', to, id, kind: 'note' }, body);
  for (const id of ids) await client.next('delivered', { id });
}

/** Reads an inbox to its end on a new connection: the ids, in order. */
export async function drain(url: string, agent: string, token: string, until: number): Promise<unknown[]> {
  await using reader = await connectWire(url, { agent, token });
  reader.send({ type: 'subscribe', request_id: 's' });
  const ids: unknown[] = [];
  while (ids.length < until) {
    const { id, seq } = await reader.next('message');
    ids.push(id);
    reader.send({ type: 'ack', seqs: [seq], request_id: `a${seq}` });
    await reader.next('ack_result', { request_id: `a${seq}` });
  }
  return ids;
}

export async function connected(client: WireClient): Promise<unknown[]> {
  client.send({ type: 'list_connected', request_id: 'who' });
  const { agents } = await client.next('connected', { request_id: 'who' });
  return (agents as { agent: string }[]).map(({ agent }) => agent);
}
