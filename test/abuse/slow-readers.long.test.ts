import { connectWire, type WireClient } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { startMonitoredBroker } from '../support/broker/monitored-broker.ts';

const kib512 = 'x'.repeat(512 * 1024);
const small = 'y'.repeat(500);
/** Less than one of the heartbeats that a broker has by default. */
const soon = { timeout: 12_000 };

async function deliver(client: WireClient, to: string, ids: readonly string[], body: string): Promise<void> {
  for (const id of ids) client.send({ type: 'deliver', to, id, kind: 'note' }, body);
  for (const id of ids) await client.next('delivered', { id });
}

/** Reads an inbox to its end on a new connection: the ids, in order. */
async function drain(url: string, agent: string, token: string, until: number): Promise<unknown[]> {
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

it('a reader that stops reading is pushed no more than its bounds, then closed, and its successor gets everything in order', async () => {
  await using broker = await startMonitoredBroker({ heartbeatMs: 500 });
  const token = await broker.token('sleeper');
  await using sleeper = await connectWire(broker.url, { agent: 'sleeper', token });
  sleeper.send({ type: 'subscribe', request_id: 's', window: 10_000, window_bytes: 256 * 1024 * 1024 });
  await sleeper.next('subscribed');
  sleeper.socket.pause();
  await using sender = await broker.connect('sender', 'orchestrator');
  const ids = Array.from({ length: 120 }, (_, i) => `m${i}`);
  await broker.during(async () => {
    for (let i = 0; i < ids.length; i += 8) await deliver(sender, 'sleeper', ids.slice(i, i + 8), kib512);
    await vi.waitFor(async () => expect(await connected(sender)).not.toContain('sleeper'), soon);
  });
  sleeper.socket.resume();
  await sleeper.closed;
  expect(sleeper.received.filter(({ type }) => type === 'message').length).toBeLessThan(ids.length);
  expect(await drain(broker.url, 'sleeper', token, ids.length)).toEqual(ids);
});

it('a reader that is only slow is caught up, loses nothing and keeps its connection', async () => {
  await using broker = await startMonitoredBroker();
  await using slow = await broker.connect('slow');
  await using sender = await broker.connect('sender', 'orchestrator');
  slow.send({ type: 'subscribe', request_id: 's', window: 1000, window_bytes: 64 * 1024 * 1024 });
  await slow.next('subscribed');
  slow.socket.pause();
  const ids = Array.from({ length: 60 }, (_, i) => `m${i}`);
  await broker.during(() => deliver(sender, 'slow', ids, kib512));
  slow.socket.resume();
  const seen: unknown[] = [];
  while (seen.length < ids.length) seen.push((await slow.next('message')).id);
  expect(seen).toEqual(ids);
});

it('a reader with a wide window gets a long backlog of large messages without being taken for a slow one', async () => {
  await using broker = await startMonitoredBroker();
  const token = await broker.token('wide');
  await using sender = await broker.connect('sender', 'orchestrator');
  const ids = Array.from({ length: 70 }, (_, i) => `m${i}`);
  for (let i = 0; i < ids.length; i += 10) await deliver(sender, 'wide', ids.slice(i, i + 10), kib512);
  await using wide = await connectWire(broker.url, { agent: 'wide', token });
  wide.send({ type: 'subscribe', request_id: 's', window: 1000, window_bytes: 256 * 1024 * 1024 });
  await wide.next('subscribed');
  wide.socket.pause();
  await deliver(sender, 'wide', ['last'], '{}');
  expect(await connected(sender)).toContain('wide');
  wide.socket.resume();
  const seen: unknown[] = [];
  while (seen.length <= ids.length) seen.push((await wide.next('message')).id);
  expect(seen).toEqual([...ids, 'last']);
  expect(await connected(sender)).toContain('wide');
});

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

const unreadAnswers: [name: string, frame: string, times: number][] = [
  ['peeks at a megabyte', '{"type":"peek","request_id":"r"}\n', 5000],
  ['errors', '{"type":"deliver","id":"x"}\n', 100_000],
  ['lists of who is connected', '{"type":"list_connected","request_id":"r","with_status":true}\n', 20_000],
  ['ack results', '{"type":"ack","request_id":"r","seqs":[1,2,3,4,5,6,7,8,9]}\n', 60_000],
];

it.each(unreadAnswers)(
  'a flood of requests for %s that nobody reads the answers of is bounded',
  async (_name, frame, times) => {
    await using broker = await startMonitoredBroker();
    await using deaf = await broker.connect('deaf');
    await using sender = await broker.connect('sender', 'orchestrator');
    await deliver(
      sender,
      'deaf',
      Array.from({ length: 4 }, (_, i) => `big${i}`),
      kib512,
    );
    const others = Array.from({ length: 30 }, (_, i) => broker.connect(`other-${i}`));
    for (const other of await Promise.all(others)) other.send({ type: 'announce', status: small });
    deaf.socket.pause();
    await broker.during(async () => {
      deaf.raw(frame.repeat(times));
      // The answers fill the sockets' buffers; then the broker stops reading what the deaf one asks.
      for (let i = 0; i < 40; i++) await connected(sender);
    });
    expect(deaf.socket.readyState).toBe(deaf.socket.OPEN);
    await deliver(sender, 'deaf', ['after'], '{}');
  },
);

async function connected(client: WireClient): Promise<unknown[]> {
  client.send({ type: 'list_connected', request_id: 'who' });
  const { agents } = await client.next('connected', { request_id: 'who' });
  return (agents as { agent: string }[]).map(({ agent }) => agent);
}
