import { connectWire, type TestBroker, type WireClient, type WireFrame } from '@signalbox/testing';

/** Connects a member of `role:writer`. */
export async function joinGroup(
  broker: TestBroker,
  agent: string,
  fields: Record<string, unknown> = {},
  role = 'writer',
): Promise<WireClient> {
  const client = await connectWire(broker.url, {
    agent: `${agent}#grp-1`,
    token: await broker.tokenOf(agent, role),
  });
  await joinOn(client, fields);
  return client;
}

/** Joins a group on a connection. Resolves with the answer. */
export async function joinOn(client: WireClient, fields: Record<string, unknown> = {}): Promise<WireFrame> {
  client.send({
    type: 'subscribe',
    request_id: 'join',
    address: 'role:writer',
    shared: true,
    ack_deadline_ms: 60_000,
    ...fields,
  });
  return client.next(['subscribed', 'error'], { request_id: 'join' });
}

/** Acks a message, and resolves when that is durable. */
export async function ackMessage(client: WireClient, { seq }: WireFrame): Promise<WireFrame> {
  client.send({ type: 'ack', seqs: [seq], request_id: `ack-${seq}` });
  return client.next('ack_result', { request_id: `ack-${seq}` });
}
