import { connectWire } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { connected, deliver, drain } from '../support/abuse/slow-readers.ts';
import { startMonitoredBroker } from '../support/broker/monitored-broker.ts';

/** Less than one of the heartbeats that a broker has by default. */
const soon = { timeout: 12_000 };

it('a half-open socket loses its lease within a few heartbeats, and what it was pushed goes to the next', async () => {
  await using broker = await startMonitoredBroker({ heartbeatMs: 300 });
  const token = await broker.token('half');
  await using sender = await broker.connect('sender', 'orchestrator');
  await using half = await connectWire(broker.url, { agent: 'half', token });
  half.send({ type: 'subscribe', request_id: 's' });
  await half.next('subscribed');
  await deliver(sender, 'half', ['pushed'], '{}');
  await half.next('message');
  half.socket.pause();
  await broker.during(async () => {
    await vi.waitFor(async () => expect(await connected(sender)).not.toContain('half'), soon);
    await deliver(sender, 'half', ['waiting'], '{}');
  });
  expect(await drain(broker.url, 'half', token, 2)).toEqual(['pushed', 'waiting']);
});
