import { connectWire, startTestBroker, storedRows } from '@signalbox/testing';
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

it('empties a sub-inbox ten minutes after nobody holds it, and never an inbox', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await broker.token('bob');
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  for (const to of ['bob#mcp-gone', 'bob#mcp-held', 'bob']) {
    alice.send({ type: 'deliver', to, id: `for ${to}`.replace(' ', '-'), kind: 'note' }, '{}');
    await alice.next('delivered');
  }
  await using holder = await connectWire(broker.url, {
    agent: 'bob#mcp-held',
    token: await broker.token('bob'),
  });
  holder.send({ type: 'subscribe', request_id: 's' });
  await holder.next('message');
  const inboxes = async (): Promise<string[]> => {
    const rows = new Map<string, { inbox: string }[]>(JSON.parse(await storedRows(broker.dataDir)));
    return (rows.get('pending_range') ?? rows.get('message')!).map(({ inbox }) => inbox).sort();
  };
  await vi.waitFor(
    async () => {
      now += 60_000;
      expect(await inboxes()).toEqual(['bob', 'bob#mcp-held']);
    },
    { interval: 500 },
  );
});
