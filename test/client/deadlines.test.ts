import { requestAddress } from '@signalbox/client';
import { connectWire } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { clientClock, gate, startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

it('a permanent error is never queued for a retry: it ends the send at once, and a restart brings nothing back', async () => {
  await using broker = await startBrokerWithClients();
  const { client } = await broker.connect('worker');
  await broker.token('other');
  await expect(client.deliver({ to: 'other', kind: 'event', body: 1 })).rejects.toMatchObject({
    code: 'forbidden',
    retryable: false,
  });
  const outcome = await client.request('other', 'mcp_request', {}, { timeoutMs: 60_000 });
  expect(outcome).toMatchObject({ status: 'rejected', error: { code: 'forbidden' } });
  await broker.stop();
  await broker.start();
  expect(await client.deliver({ to: 'other', kind: 'note', body: 2 })).toMatchObject({ duplicate: false });
  const { client: other } = await broker.connect('other');
  expect(await other.peek()).toMatchObject([{ kind: 'note', body: '2' }]);
});

it('one absolute deadline: progress, receipts and unrelated traffic never extend it', async () => {
  // The test's clock advances by a minute; the broker's own, by which it would expire the request, does not get that far.
  await using broker = await startBrokerWithClients({ heartbeatMs: 600_000 });
  await using server = await connectWire(broker.url, {
    agent: 'server',
    token: await broker.token('server'),
  });
  server.send({ type: 'subscribe', request_id: 's' });
  const { client } = await broker.connect(requestAddress('asker'));
  const { client: friend } = await broker.connect('asker');
  const { advance, ...clock } = clientClock();
  const { client: timed } = await broker.connect(requestAddress('asker'), clock);
  const steps: unknown[] = [];
  let progressed = gate();
  const outcome = timed.request('server', 'ask', null, {
    timeoutMs: 60_000,
    onProgress: (step) => {
      steps.push(step);
      progressed.open();
    },
  });
  const { id } = await server.next('message');
  const progress = {
    type: 'deliver',
    to: timed.address,
    kind: 'progress',
    correlation_id: id,
    ephemeral: true,
  };
  for (let step = 1; step <= 9; step++) {
    advance(6_000);
    progressed = gate();
    server.send({ ...progress, id: `p${step}` }, String(step));
    await progressed.opened;
    expect(steps).toHaveLength(step);
    await friend.deliver({ to: timed.address, kind: 'note', body: step });
    await client.listConnected();
  }
  advance(6_000);
  expect(await outcome).toEqual({ status: 'timed_out', mayHaveRun: true });
});

it('a heartbeat does not share the fate of running work: a long request outlives many of them', async () => {
  await using broker = await startBrokerWithClients({ heartbeatMs: 30 });
  const { client: server, events } = await broker.connect('server');
  const { client } = await broker.connect(requestAddress('asker'));
  await using observer = await connectWire(broker.url, { agent: 'seer', token: await broker.token('seer') });
  const manyHeartbeats = new Promise<void>((resolve) => {
    let beats = 0;
    observer.socket.on('ping', () => ++beats === 8 && resolve());
  });
  let runs = 0;
  await server.serve(['ask'], async () => {
    runs++;
    await manyHeartbeats;
    return { kind: 'reply', body: 'done' };
  });
  const outcome = await client.request('server', 'ask', null, { timeoutMs: 20_000 });
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'done' } });
  expect(runs).toBe(1);
  expect(server.state.name).toBe('ready');
  expect(events.filter(({ event }) => event === 'disconnected')).toEqual([]);
});
