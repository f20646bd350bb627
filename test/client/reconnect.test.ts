import type { AddressInfo } from 'node:net';
import { createServer, connect as dial, type Socket } from 'node:net';
import { connectBroker, requestAddress } from '@signalbox/client';
import { describe, expect, it } from 'vitest';
import { drained, gate, reached, startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

const timeoutMs = 20_000;

describe('a restart of the broker', () => {
  it('is invisible to a request that runs meanwhile, and the request runs once', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server, events } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const finish = gate();
    let runs = 0;
    await server.serve(['ask'], async () => {
      runs++;
      started.open();
      await finish.opened;
      return { kind: 'reply', body: 'survived' };
    });
    const asked = client.request('server', 'ask', null, { timeoutMs });
    await started.opened;
    await broker.stop();
    await broker.start();
    await Promise.all([reached(server, 'ready'), reached(client, 'ready')]);
    // The redelivered request comes right after `subscribed`, on which this waits.
    await server.serve(['note'], async () => undefined);
    finish.open();
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'survived' } });
    expect(runs).toBe(1);
    expect(events.some(({ event }) => event === 'disconnected')).toBe(true);
    await drained(server);
    await drained(client);
  });

  it('lets a reply that was ready while it was down arrive afterwards', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const finish = gate();
    let runs = 0;
    const loop = await server.serve(['ask'], async () => {
      runs++;
      started.open();
      await finish.opened;
      return { kind: 'reply', body: 'kept' };
    });
    const asked = client.request('server', 'ask', null, { timeoutMs });
    await started.opened;
    await broker.stop();
    finish.open();
    await broker.start();
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'kept' } });
    await loop.stop();
    expect(runs).toBe(1);
    await drained(client);
  });

  it('holds up, but does not lose, what is sent while it is down', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    await broker.stop();
    await reached(client, 'reconnecting');
    const asked = [1, 2, 3].map((n) => client.request('server', 'ask', n, { timeoutMs }));
    const note = client.deliver({ to: 'server', kind: 'note', body: 'later' });
    await broker.start();
    const answers = (await Promise.all(asked)).map((o) => o.status === 'completed' && o.reply.json);
    expect(answers).toEqual([1, 2, 3]);
    expect(await note).toMatchObject({ duplicate: false });
  });

  it('ends a request that could not leave in time without any doubt', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    await broker.stop();
    await reached(client, 'reconnecting');
    const outcome = await client.request('server', 'ask', null, { timeoutMs: 50 });
    expect(outcome).toEqual({ status: 'timed_out', mayHaveRun: false });
    await expect(client.deliver({ to: 'server', kind: 'note' }, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'connection_lost',
      details: { mayBeStored: false },
    });
  });

  it('has acks of the old lease rejected instead of failing', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect('reader');
    const { client: writer } = await broker.connect('writer');
    await writer.deliver({ to: 'reader', kind: 'note', body: 1 });
    await using subscription = await client.subscribe();
    const first = await subscription.messages.next();
    await broker.stop();
    await reached(client, 'reconnecting');
    expect(await client.ack([first.value!.seq!])).toEqual({ accepted: [], rejected: [first.value!.seq] });
    await broker.start();
    const again = await subscription.messages.next();
    expect(again.value).toMatchObject({ id: first.value!.id, body: '1' });
    expect(await client.ack([again.value!.seq!])).toEqual({ accepted: [again.value!.seq], rejected: [] });
    await drained(client);
  });
});

describe('the first connection', () => {
  it('is one attempt unless it is told to wait', async () => {
    await using broker = await startBrokerWithClients();
    const token = await broker.token('late');
    const { url } = broker;
    await broker.stop();
    await expect(connectBroker({ url, token, agent: 'late' })).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
    });
    const waiting = connectBroker({ url, token, agent: 'late', waitForBroker: true });
    await broker.start();
    await using client = await waiting;
    expect(client.state.name).toBe('ready');
  });

  it('can be aborted while it waits', async () => {
    await using broker = await startBrokerWithClients();
    const token = await broker.token('late');
    const { url } = broker;
    await broker.stop();
    const controller = new AbortController();
    const waiting = connectBroker({
      url,
      token,
      agent: 'late',
      waitForBroker: true,
      signal: controller.signal,
    });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('the supervisor stops for good', () => {
  it('on an unknown token, at once', async () => {
    await using broker = await startBrokerWithClients();
    const options = { url: broker.url, agent: 'worker', waitForBroker: true };
    await expect(connectBroker({ ...options, token: 'sbx_wrong' })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    await using client = await connectBroker({ ...options, token: await broker.token('worker') });
    expect(client.state.name).toBe('ready');
  });

  it('on a token for somebody else', async () => {
    await using broker = await startBrokerWithClients();
    const token = await broker.token('worker');
    const refused = connectBroker({ url: broker.url, token, agent: 'another', waitForBroker: true });
    await expect(refused).rejects.toMatchObject({ code: 'forged_sender' });
  });

  it('when its token is revoked', async () => {
    await using broker = await startBrokerWithClients();
    const { id, token } = await broker.broker.broker.issueToken({ agent: 'worker', role: 'worker' });
    const { client: operator } = await broker.connect('operator');
    await using client = await connectBroker({ url: broker.url, token, agent: 'worker' });
    await operator.admin('token_revoke', { id });
    expect(await client.closed).toMatchObject({ code: 'unauthorized' });
    expect(client.state).toMatchObject({ name: 'closed', reason: { code: 'unauthorized' } });
    expect(operator.state.name).toBe('ready');
  });

  it('when another client takes its address over, which then gets the messages', async () => {
    await using broker = await startBrokerWithClients();
    const { client: first } = await broker.connect('server');
    const { client: second } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    await first.serve(['ask'], async () => ({ kind: 'reply', body: 'first' }));
    await second.serve(['ask'], async () => ({ kind: 'reply', body: 'second' }));
    expect(await first.closed).toMatchObject({ code: 'taken_over' });
    const outcome = await client.request('server', 'ask', null, { timeoutMs });
    expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'second' } });
  });

  it('on its AbortSignal', async () => {
    await using broker = await startBrokerWithClients();
    const controller = new AbortController();
    const { client } = await broker.connect('worker', { signal: controller.signal });
    controller.abort();
    expect(await client.closed).toMatchObject({ code: 'aborted' });
    await expect(client.deliver({ to: 'worker', kind: 'note' })).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('a half-open connection', () => {
  it('is noticed by its silence and replaced', async () => {
    await using broker = await startBrokerWithClients({ heartbeatMs: 100 });
    await using proxy = await freezableProxy(broker.broker.port);
    const { client: server } = await broker.connect('server');
    await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    const { client } = await broker.connect(requestAddress('asker'), { url: proxy.url });
    expect(await client.request('server', 'ask', 1, { timeoutMs })).toMatchObject({ status: 'completed' });
    proxy.freeze();
    const asked = client.request('server', 'ask', 2, { timeoutMs });
    await reached(client, 'reconnecting');
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: 2 } });
  });
});

/** Forwards TCP until it is frozen: then what is open stays open and silent, and new connections work. */
async function freezableProxy(port: number): Promise<AsyncDisposable & { url: string; freeze(): void }> {
  const pairs: [Socket, Socket][] = [];
  const server = createServer((near) => {
    const far = dial(port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    near.pipe(far).pipe(near);
    pairs.push([near, far]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze() {
      for (const [near, far] of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of pairs.flat()) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
