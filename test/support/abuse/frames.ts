import { connectWire, type TestBroker, type WireClient } from '@signalbox/testing';

export async function connect(broker: TestBroker, agent: string, role = 'worker'): Promise<WireClient> {
  return connectWire(broker.url, { agent, token: await broker.token(agent, role) });
}
