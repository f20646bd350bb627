import { requestAddress } from '@signalbox/client';
import { connectWire } from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { clientClock, drained, gate, startBrokerWithClients } from '../support/broker/broker-with-clients.ts';

const timeoutMs = 10_000;

describe('a serve loop', () => {
  it('is refused where only replies come', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    await expect(client.serve(['ask'], async () => undefined)).rejects.toMatchObject({
      code: 'invalid_message',
      message: expect.stringContaining("connect another client with agent: 'asker'"),
    });
  });

  it('runs at most as many handlers at a time as it was told to', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    let running = 0;
    let most = 0;
    await server.serve(
      ['ask'],
      async () => {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
        return { kind: 'reply', body: null };
      },
      { concurrency: 3 },
    );
    const asked = Array.from({ length: 50 }, () => client.request('server', 'ask', null, { timeoutMs }));
    const outcomes = await Promise.all(asked);
    expect(outcomes.every(({ status }) => status === 'completed')).toBe(true);
    expect(most).toBe(3);
  });

  it('has a request whose handler failed tried again, and goes on meanwhile', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server, events } = await broker.connect('server', { random: () => 0 });
    const { client } = await broker.connect(requestAddress('asker'));
    const attempts: (number | undefined)[] = [];
    await server.serve(['ask'], async ({ message, json }) => {
      if (json === 'fail once') {
        attempts.push(message.attempt);
        if (attempts.length === 1) throw new Error('not today');
      }
      return { kind: 'reply', body: json };
    });
    const outcomes = await Promise.all(
      ['fail once', 'fine'].map((body) => client.request('server', 'ask', body, { timeoutMs })),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(attempts).toHaveLength(2);
    expect(events.filter(({ event }) => event === 'handler_failed')).toMatchObject([
      { message: 'not today' },
    ]);
  });

  it('kills a body that is no JSON and answers the next request', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server, events } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    await server.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: json }));
    await using wire = await connectWire(broker.url, { agent: 'asker', token: await broker.token('asker') });
    wire.send({ type: 'deliver', to: 'server', id: 'bad', kind: 'ask' }, '{"not json');
    await wire.next('delivered');
    await drained(server);
    expect(events.filter(({ event }) => event === 'bad_body')).toMatchObject([{ id: 'bad' }]);
    const outcome = await client.request('server', 'ask', 'good', { timeoutMs });
    expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'good' } });
  });

  it('does not run a request that is delivered again while it runs or after it was answered', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const finish = gate();
    let runs = 0;
    await server.serve(['ask'], async () => {
      runs++;
      started.open();
      await finish.opened;
      return { kind: 'reply', body: 'once' };
    });
    const asked = client.request('server', 'ask', null, { timeoutMs });
    await started.opened;
    // Another window is another lease: what is un-acked is handed out again.
    await server.subscribe({ window: 7 });
    await server.subscribe({ window: 8 });
    finish.open();
    expect(await asked).toMatchObject({ status: 'completed', reply: { json: 'once' } });
    expect(runs).toBe(1);
    await drained(server);
  });

  it('goes on when a reply is refused, and does not run its request again', async () => {
    await using broker = await startBrokerWithClients({ limits: { inbox: { messages: 1 } } });
    const { client: server, events } = await broker.connect('server', { random: () => 0 });
    const { client: away } = await broker.connect('away');
    const { client } = await broker.connect(requestAddress('asker'));
    let runs = 0;
    await server.serve(['ask'], async ({ json }) => {
      runs++;
      return { kind: 'reply', body: json };
    });
    // Nobody reads the inbox of `away`: its first reply fills it.
    for (const body of [1, 2]) {
      await away.deliver({ to: 'server', kind: 'ask', body });
      await drained(server);
    }
    expect(events.filter(({ event }) => event === 'reply_refused')).toMatchObject([{ code: 'inbox_full' }]);
    expect(await client.request('server', 'ask', 3, { timeoutMs })).toMatchObject({ status: 'completed' });
    expect(runs).toBe(3);
    expect(await away.peek()).toHaveLength(1);
  });

  it('keeps replies to two senders apart that chose the same id', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client: one } = await broker.connect('one', { newId: () => 'same' });
    const { client: two } = await broker.connect('two', { newId: () => 'same' });
    const both = gate();
    let arrived = 0;
    await server.serve(['ask'], async ({ message }) => {
      if (++arrived === 2) both.open();
      await both.opened;
      return { kind: 'reply', body: message.from.agent };
    });
    const outcomes = await Promise.all(
      [one, two].map((client) => client.request('server', 'ask', null, { timeoutMs })),
    );
    expect(outcomes).toMatchObject([
      { status: 'completed', reply: { json: 'one' } },
      { status: 'completed', reply: { json: 'two' } },
    ]);
  });

  it('answers what runs before it stops, and leaves the rest for the next', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const finish = gate();
    const loop = await server.serve(
      ['ask'],
      async ({ json }) => {
        started.open();
        await finish.opened;
        return { kind: 'reply', body: ['first loop', json] };
      },
      { concurrency: 1 },
    );
    const running = client.request('server', 'ask', 1, { timeoutMs });
    const waiting = client.request('server', 'ask', 2, { timeoutMs });
    await started.opened;
    const stopped = loop.stop();
    finish.open();
    await stopped;
    expect(await running).toMatchObject({ status: 'completed', reply: { json: ['first loop', 1] } });
    await server.close();
    const { client: next } = await broker.connect('server');
    await next.serve(['ask'], async ({ json }) => ({ kind: 'reply', body: ['second loop', json] }));
    expect(await waiting).toMatchObject({ status: 'completed', reply: { json: ['second loop', 2] } });
  });

  it('hands what it never started to the next loop of the same client', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    const started = gate();
    const finish = gate();
    const loop = await server.serve(
      ['ask'],
      async () => {
        started.open();
        await finish.opened;
        return { kind: 'reply', body: 'first loop' };
      },
      { concurrency: 1 },
    );
    const asked = [1, 2, 3].map((body) => client.request('server', 'ask', body, { timeoutMs }));
    await started.opened;
    await vi.waitFor(() => expect(loop.inFlight).toBe(3));
    const stopped = loop.stop();
    finish.open();
    await stopped;
    await server.serve(['ask'], async () => ({ kind: 'reply', body: 'second loop' }));
    const answers = (await Promise.all(asked)).map((o) => o.status === 'completed' && o.reply.json);
    expect(answers).toEqual(['first loop', 'second loop', 'second loop']);
  });

  it('leaves a request a dead letter that ends each consumer before the broker hears of its start', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect(requestAddress('asker'));
    let outcome: Promise<unknown> | undefined;
    const attempts: (number | undefined)[] = [];
    for (let consumers = 1; consumers <= 6; consumers++) {
      const begun = gate();
      // On a clock that stands, no time passes within which the broker would be told. The next consumer takes the inbox over.
      const { client: server } = await broker.connect('server', clientClock());
      await server.serve(
        ['ask'],
        (request) => {
          attempts.push(request.message.attempt);
          request.started();
          setImmediate(begun.open);
          return new Promise(() => {});
        },
        { tellsStart: true },
      );
      outcome ??= client.request('server', 'ask', 'poison', { timeoutMs });
      await begun.opened;
    }
    await broker.connect('server').then(({ client: last }) => last.serve(['ask'], async () => undefined));
    expect(await outcome).toMatchObject({
      ...{ status: 'undeliverable', reason: 'dead', mayHaveRun: true },
      detail: expect.stringContaining('tried 5 times'),
    });
    expect(attempts).toEqual([undefined, undefined, 2, 3, 4, 5]);
  });

  it('leaves kinds it does not serve to a later loop', async () => {
    await using broker = await startBrokerWithClients();
    const { client: server, events } = await broker.connect('server');
    const { client } = await broker.connect(requestAddress('asker'));
    await server.serve(['ask'], async () => ({ kind: 'reply', body: 'ask' }));
    const task = client.request('server', 'task', null, { timeoutMs });
    await vi.waitFor(() => expect(events.some(({ event }) => event === 'unmatched_message')).toBe(true));
    await server.serve(['task'], async () => ({ kind: 'reply', body: 'task' }));
    expect(await task).toMatchObject({ status: 'completed', reply: { json: 'task' } });
    await expect(server.serve(['task'], async () => undefined)).rejects.toMatchObject({
      code: 'invalid_message',
    });
  });
});

it('a request that another connection of the agent answered is done: acked, and nothing is sent again', async () => {
  await using broker = await startBrokerWithClients();
  const { client: server, events } = await broker.connect('server');
  const { client: twin } = await broker.connect('server#twin');
  const { client } = await broker.connect(requestAddress('asker'));
  let runs = 0;
  await server.serve(['ask'], async ({ message }) => {
    runs++;
    const reply = { to: message.from.address, kind: 'reply', correlationId: message.id };
    await twin.deliver({ ...reply, body: 'first' });
    return { kind: 'reply', body: 'second' };
  });
  const outcome = await client.request('server', 'ask', null, { timeoutMs: 10_000 });
  expect(outcome).toMatchObject({ status: 'completed', reply: { json: 'first' } });
  await vi.waitFor(() => expect(events.some(({ event }) => event === 'already_answered')).toBe(true));
  expect(await server.peek()).toEqual([]);
  expect(runs).toBe(1);
});

describe('messages', () => {
  it('are taken once however often they are sent with one id', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect('writer');
    const { client: reader } = await broker.connect('reader');
    const message = { to: 'reader', kind: 'note', id: 'n-1', body: { text: 'hi' } };
    expect(await client.deliver(message)).toEqual({ id: 'n-1', duplicate: false });
    expect(await client.deliver(message)).toEqual({ id: 'n-1', duplicate: true });
    await expect(client.deliver({ ...message, body: 'other' })).rejects.toMatchObject({
      code: 'id_conflict',
    });
    expect(await reader.peek()).toMatchObject([{ id: 'n-1', from: { agent: 'writer' } }]);
  });

  it('are read by hand, given back and acked', async () => {
    await using broker = await startBrokerWithClients();
    const { client: writer } = await broker.connect('writer');
    const { client: reader } = await broker.connect('reader');
    for (const body of ['a', 'b']) await writer.deliver({ to: 'reader', kind: 'note', body });
    await using subscription = await reader.subscribe({ window: 10 });
    expect(subscription.subscribed.pending).toBe(2);
    const first = (await subscription.messages.next()).value!;
    const second = (await subscription.messages.next()).value!;
    expect([first.body, second.body]).toEqual(['"a"', '"b"']);
    expect(await reader.nack([first.seq!], { reason: 'later' })).toEqual({
      accepted: [first.seq],
      rejected: [],
    });
    const again = (await subscription.messages.next()).value!;
    expect(again).toMatchObject({ id: first.id, attempt: 2 });
    const seqs = [second.seq!, again.seq!];
    expect(await reader.ack([...seqs, 999_999])).toEqual({ accepted: seqs, rejected: [999_999] });
    await drained(reader);
  });

  it('that are ephemeral go to listeners, and their refusal is logged when nobody is there', async () => {
    await using broker = await startBrokerWithClients();
    const { client: teller, events } = await broker.connect('teller', { role: 'orchestrator' });
    const { client: listener } = await broker.connect('listener');
    const event = { to: 'listener', kind: 'event', ephemeral: true, body: { changed: true } };
    await teller.deliver({ ...event, id: 'early' });
    await vi.waitFor(() =>
      expect(events).toContainEqual({ event: 'refused', id: 'early', code: 'no_consumer' }),
    );
    const heard = Promise.withResolvers<unknown>();
    listener.onMessage(({ id, kind, json }) => heard.resolve([id, kind, json]));
    // Its answer comes after the subscription's.
    await listener.subscribe();
    await teller.deliver({ ...event, id: 'heard' });
    expect(await heard.promise).toEqual(['heard', 'event', { changed: true }]);
  });
});

describe('presence', () => {
  it('shows who is connected with the newest status, also after a restart', async () => {
    await using broker = await startBrokerWithClients();
    const { client } = await broker.connect('worker');
    const { client: watcher } = await broker.connect('watcher');
    client.announce({ load: 1 });
    const status = async () => {
      const agents = await watcher.listConnected({ withStatus: true });
      return agents.find(({ agent }) => agent === 'worker')?.status;
    };
    await vi.waitFor(async () => expect(await status()).toEqual({ load: 1 }));
    client.announce({ load: 2 });
    client.announce({ load: 3 });
    await vi.waitFor(async () => expect(await status()).toEqual({ load: 3 }));
    await broker.stop();
    await broker.start();
    await vi.waitFor(async () => expect(await status()).toEqual({ load: 3 }));
  });
});
