import { connectWire, type TestBroker, type WireClient, type WireFrame } from '@signalbox/testing';

/** Connects a wire client for an agent with a new token. */
export async function connect(broker: TestBroker, address: string, role = 'worker'): Promise<WireClient> {
  const agent = address.split('#')[0]!;
  return connectWire(broker.url, { agent: address, token: await broker.token(agent, role) });
}

export async function connectOperator(broker: TestBroker): Promise<WireClient> {
  return connectWire(broker.url, { agent: 'operator', token: await broker.operatorToken() });
}

export async function subscribe(client: WireClient, fields: Record<string, unknown> = {}): Promise<void> {
  client.send({ type: 'subscribe', request_id: 's', ...fields });
  await client.next('subscribed');
}

/** Sends a message and waits for its receipt. */
export async function deliver(
  client: WireClient,
  to: string,
  id: string,
  fields: Record<string, unknown> = {},
  body = '{}',
): Promise<void> {
  client.send({ type: 'deliver', to, id, kind: 'ask', ...fields }, body);
  await client.next('delivered', { id });
}

/** Resolves when the broker has handled everything that this connection sent before. */
export async function barrier(client: WireClient, request_id = 'barrier'): Promise<void> {
  client.send({ type: 'list_connected', request_id, role: 'nobody' });
  await client.next('connected', { request_id });
}

/** Runs an admin operation. Returns its result, or the error frame. */
export async function admin<T = Record<string, unknown>>(
  client: WireClient,
  op: string,
  params: Record<string, unknown> = {},
): Promise<T> {
  client.send({ type: 'admin', request_id: op, op, params });
  const frame = await client.next(['admin_result', 'error'], { request_id: op });
  return (frame.type === 'error' ? frame : frame.result) as T;
}

/** Resolves with the next `undeliverable` message and its parsed body. */
export async function undeliverable(
  client: WireClient,
): Promise<WireFrame & { why: Record<string, unknown> }> {
  const frame = await client.next('message', { kind: 'undeliverable' });
  return { ...frame, why: JSON.parse(frame.body!) };
}
