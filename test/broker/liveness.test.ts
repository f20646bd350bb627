import { connectWire, startTestBroker } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';

it('takes the lease from a half-open socket after two heartbeats, and leaves a live one alone', async () => {
  await using broker = await startTestBroker({ heartbeatMs: 40 });
  await using silent = await connectWire(broker.url, { agent: 'bob', token: await broker.token('bob') });
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  silent.send({ type: 'subscribe', request_id: 's' });
  await silent.next('subscribed');
  silent.socket.pause();
  await vi.waitFor(async () => {
    alice.send({ type: 'list_connected', request_id: 'l' });
    const { agents } = await alice.next('connected');
    expect((agents as { agent: string }[]).map(({ agent }) => agent)).toEqual(['alice']);
  });
  alice.send({ type: 'deliver', to: 'bob', id: 'e', kind: 'note', ephemeral: true }, '{}');
  expect(await alice.next('error')).toMatchObject({ code: 'no_consumer' });
});

it('ends a connection within two heartbeats of its last sign of life: five pings go unanswered, three in a heartbeat', async () => {
  await using broker = await startTestBroker({ heartbeatMs: 60 });
  const token = await broker.token('bob');
  await using silent = await connectWire(broker.url, { agent: 'bob', token }, { autoPong: false });
  let pings = 0;
  silent.socket.on('ping', () => pings++);
  await silent.closed;
  // One may have gone out while the welcome was on its way.
  expect([4, 5]).toContain(pings);
});
