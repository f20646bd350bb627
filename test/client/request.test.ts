import { connectBroker, requestAddress } from '@signalbox/client';
import { describe, expect, it } from 'vitest';
import {
  aborted,
  clientClock,
  drained,
  gate,
  startBrokerWithClients,
} from '../support/broker/broker-with-clients.ts';

const timeoutMs = 10_000;

describe('requests', () => {
  it('gives each of many concurrent requests its own answer', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    let running = 0;
    let most = 0;
    await server.serve(['ask'], async ({ json }) => {
      most = Math.max(most, ++running);
      const { n } = json as { n: number };
      for (let i = n % 7; i > 0; i--) await new Promise(setImmediate);
      running--;
      return { kind: 'reply', body: { square: n * n } };
    });
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, n) => client.request('server', 'ask', { n }, { timeoutMs })),
    );
    const squares = outcomes.map((o) =>
      o.status === 'completed' ? (o.reply.json as { square: number }).square : o,
    );
    expect(squares).toEqual(Array.from({ length: 300 }, (_, n) => n * n));
    expect(most).toBeGreaterThan(1);
    await drained(client);
    await drained(server);
  });

  it('gives two clients with one token their own replies', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    await server.serve(['ask'], async ({ message }) => ({ kind: 'reply', body: message.from.address }));
    const clients = await Promise.all([1, 2].map(() => broker.connect(requestAddress('asker'))));
    const rounds = await Promise.all(
      clients.flatMap(({ client }) =>
        Array.from({ length: 20 }, async () => {
          const outcome = await client.request('server', 'ask', null, { timeoutMs });
          return outcome.status === 'completed' && outcome.reply.json === client.address;
        }),
      ),
    );
    expect(rounds).toEqual(Array(40).fill(true));
  });

  it('cancels at the recipient when its time is over, and says that it may have run', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const cancelled = Promise.withResolvers<string>();
    await server.serve(['ask'], async ({ signal }) => {
      cancelled.resolve(await aborted(signal));
      return undefined;
    });
    const outcome = await client.request('server', 'ask', null, { timeoutMs: 200 });
    expect(outcome).toEqual({ status: 'timed_out', mayHaveRun: true });
    expect(['aborted', 'timed_out']).toContain(await cancelled.promise);
  });

  it('cancels at the recipient when it is aborted, and retires the late reply', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client, events } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const seen = Promise.withResolvers<string>();
    await server.serve(['ask'], async ({ signal }) => {
      started.open();
      seen.resolve(await aborted(signal));
      return { kind: 'reply', body: 'too late' };
    });
    const controller = new AbortController();
    const asked = client.request('server', 'ask', null, { timeoutMs, signal: controller.signal });
    await started.opened;
    controller.abort();
    expect(await asked).toEqual({ status: 'cancelled', mayHaveRun: true });
    expect(await seen.promise).toBe('aborted');
    await drained(server);
    await drained(client);
    expect(events.filter(({ event }) => event === 'unmatched_message')).toEqual([]);
  });

  it('is not sent at all if it is aborted before it leaves', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    const { client: server } = await broker.connect('server');
    const controller = new AbortController();
    const asked = client.request('server', 'ask', null, { timeoutMs, signal: controller.signal });
    controller.abort();
    expect(await asked).toEqual({ status: 'cancelled', mayHaveRun: false });
    const again = await client.request('server', 'ask', null, { timeoutMs, signal: controller.signal });
    expect(again).toEqual({ status: 'cancelled', mayHaveRun: false });
    await drained(server);
  });

  it('takes no reply from anybody but whom it asked, and the forged one is dead, not lost', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client: forger } = await broker.connect('forger', { role: 'orchestrator' });
    const { client, events } = await broker.connect(requestAddress('asker'));
    const answer = gate();
    const asked = Promise.withResolvers<string>();
    await server.serve(['ask'], async ({ message }) => {
      asked.resolve(message.id);
      await answer.opened;
      return { kind: 'reply', body: 'real' };
    });
    const outcome = client.request('server', 'ask', null, { timeoutMs });
    const correlationId = await asked.promise;
    const forged = { to: client.address, kind: 'reply', correlationId, body: 'forged' };
    await expect(forger.deliver(forged)).rejects.toMatchObject({ code: 'forbidden' });
    await forger.deliver({
      to: client.address,
      kind: 'undeliverable',
      correlationId,
      body: { reason: 'forged' },
    });
    await drained(client);
    answer.open();
    expect(await outcome).toMatchObject({ status: 'completed', reply: { json: 'real' } });
    expect(events.filter(({ event }) => event === 'reply_mismatch')).toHaveLength(1);
  });

  it('tells refusals by code, and that nothing ran', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    const forbidden = await client.request('server', 'mcp_request', {}, { timeoutMs });
    expect(forbidden).toMatchObject({ status: 'rejected', error: { code: 'forbidden' }, mayHaveRun: false });
    const invalid = await client.request('Not An Address', 'ask', {}, { timeoutMs });
    expect(invalid).toMatchObject({
      status: 'not_sent',
      error: { code: 'invalid_message' },
      mayHaveRun: false,
    });
    const large = await client.request('server', 'ask', 'x'.repeat(5 << 20), { timeoutMs });
    expect(large).toMatchObject({
      status: 'not_sent',
      error: { code: 'message_too_large' },
      mayHaveRun: false,
    });
  });

  it('passes progress on, and only from whom it asked', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client: forger } = await broker.connect('forger', { role: 'orchestrator' });
    const { client } = await broker.connect(requestAddress('asker'));
    await server.serve(['ask'], async ({ message, progress: _, ...request }) => {
      await forger.deliver({
        to: message.from.address,
        kind: 'progress',
        correlationId: message.id,
        body: 'forged',
        ephemeral: true,
      });
      return { kind: 'reply', body: request.json };
    });
    await server.serve(['task'], async (request) => {
      for (let step = 1; step <= 3; step++) request.progress({ step });
      return { kind: 'reply', body: 'done' };
    });
    const heard: unknown[] = [];
    const onProgress = (body: unknown) => heard.push(body);
    expect((await client.request('server', 'task', null, { timeoutMs, onProgress })).status).toBe(
      'completed',
    );
    expect(heard).toEqual([{ step: 1 }, { step: 2 }, { step: 3 }]);
    expect((await client.request('server', 'ask', null, { timeoutMs, onProgress })).status).toBe('completed');
    expect(heard).toHaveLength(3);
  });
});

describe('ephemeral requests', () => {
  it('wait for somebody who serves them', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    const { client: server } = await broker.connect('server', { role: 'orchestrator' });
    const asked = client.request('server', 'ask', 'hello', { timeoutMs, ephemeral: true });
    await client.peek();
    await server.serve(['ask'], async ({ json, message }) => ({
      kind: 'reply',
      body: [json, message.seq ?? null],
    }));
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: ['hello', null] } });
    await drained(server);
  });

  it('report no_consumer when their time is over', async () => {
    await using broker = await startBrokerWithClients();
    const { advance, ...clock } = clientClock();
    const { client } = await broker.connect(requestAddress('asker'), clock);
    const asked = client.request('nobody', 'ask', null, { timeoutMs: 10, ephemeral: true });
    // The broker reads in order: by then it has refused the request, which is not sent again within 20 ms of the client's clock.
    await client.deliver({ to: 'asker', kind: 'note', body: null });
    advance(10);
    expect(await asked).toMatchObject({
      status: 'rejected',
      error: { code: 'no_consumer' },
      mayHaveRun: false,
    });
  });
});

describe('a closed client', () => {
  it('rejects everything with the reason, and ends what was asked as a typed outcome', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const started = gate();
    await server.serve(['ask'], async ({ signal }) => {
      started.open();
      await aborted(signal);
      return undefined;
    });
    const client = await connectBroker({
      url: broker.url,
      token: await broker.token('asker'),
      agent: requestAddress('asker'),
    });
    const asked = client.request('server', 'ask', null, { timeoutMs });
    await started.opened;
    await client.close();
    expect(await asked).toMatchObject({
      status: 'connection_lost',
      mayHaveRun: true,
      error: { code: 'closed' },
    });
    expect(await client.closed).toBeUndefined();
    expect(await client.request('server', 'ask', null, { timeoutMs })).toMatchObject({
      status: 'not_sent',
      error: { code: 'closed' },
    });
    await expect(client.deliver({ to: 'server', kind: 'note' })).rejects.toMatchObject({ code: 'closed' });
    await expect(client.peek()).rejects.toMatchObject({ code: 'closed' });
    await expect(client.ack([1])).rejects.toMatchObject({ code: 'closed' });
    await expect(client.serve(['ask'], async () => undefined)).rejects.toMatchObject({ code: 'closed' });
  });
});
