import { connectBroker } from '@signalbox/client';
import {
  connectWire,
  startBrokerProcess,
  startTestBroker,
  type TestBroker,
  tempDir,
  type WireClient,
} from '@signalbox/testing';
import { describe, expect, it } from 'vitest';

async function connect(broker: TestBroker, agent: string, role = 'worker'): Promise<WireClient> {
  return connectWire(broker.url, { agent, token: await broker.token(agent, role) });
}

async function subscribe(client: WireClient, fields: Record<string, unknown> = {}): Promise<void> {
  client.send({ type: 'subscribe', request_id: 's', ...fields });
  await client.next('subscribed');
}

function note(id: string, to: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { type: 'deliver', to, id, kind: 'note', ...fields };
}

describe('delivery', () => {
  it('pushes what comes in, with the body byte for byte and the identity from the token', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob);
    const body = '{"big":12345678901234567890,  "spaces": "kept", "u":"\\u2028 é"}';
    alice.send(note('1', 'bob'), body);
    expect(await alice.next('delivered')).toEqual({ type: 'delivered', id: '1' });
    const message = await bob.next('message');
    expect(message.body).toBe(body.replace(/^/, ''));
    expect(message.from).toEqual({ agent: 'alice', address: 'alice', role: 'worker' });
    expect(message.remaining_ms).toBeGreaterThan(0);
  });

  it('stores one message for the same sender and id twice, and two for two senders', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using carol = await connect(broker, 'carol');
    await using bob = await connect(broker, 'bob');
    alice.send(note('same', 'bob'), '1');
    alice.send(note('same', 'bob'), '1');
    expect(await alice.next('delivered')).toEqual({ type: 'delivered', id: 'same' });
    expect(await alice.next('delivered')).toEqual({ type: 'delivered', id: 'same', duplicate: true });
    carol.send(note('same', 'bob'), '2');
    expect(await carol.next('delivered')).toEqual({ type: 'delivered', id: 'same' });
    alice.send(note('same', 'bob'), 'other content');
    expect(await alice.next('error')).toMatchObject({ code: 'id_conflict', id: 'same', retryable: false });
    bob.send({ type: 'peek', request_id: 'p' });
    const { messages } = await bob.next('peeked');
    expect((messages as { body: string }[]).map((m) => m.body)).toEqual(['1', '2']);
    bob.send({ type: 'peek', request_id: 'q', bodies: false });
    const { messages: headers } = await bob.next('peeked');
    expect(headers).toMatchObject([{ id: 'same', kind: 'note' }, { from: { agent: 'carol' } }]);
    for (const header of headers as object[]) expect(header).not.toHaveProperty('body');
  });

  it('keeps the order of one sender through backlog, live pushes and a small window', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    const ids = Array.from({ length: 400 }, (_, i) => `m${i}`);
    for (const id of ids.slice(0, 200)) alice.send(note(id, 'bob'), '{}');
    bob.send({ type: 'subscribe', request_id: 's', window: 7 });
    for (const id of ids.slice(200)) alice.send(note(id, 'bob'), '{}');
    const seen: unknown[] = [];
    while (seen.length < ids.length) {
      const message = await bob.next('message');
      seen.push(message.id);
      bob.send({ type: 'ack', seqs: [message.seq] });
    }
    expect(seen).toEqual(ids);
  });

  it('never has more un-acked messages out than the window, in messages or bytes', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob, { window: 10, window_bytes: 1000 });
    for (let i = 0; i < 5; i++) alice.send(note(`big${i}`, 'bob'), 'x'.repeat(400));
    for (let i = 0; i < 5; i++) await alice.next('delivered');
    bob.send({ type: 'list_connected', request_id: 'barrier' });
    await bob.next('connected');
    const pushed = bob.received.filter((frame) => frame.type === 'message');
    expect(pushed.map((m) => m.id)).toEqual(['big0', 'big1']);
    bob.send({ type: 'ack', seqs: pushed.map((m) => m.seq) });
    for (const id of ['big2', 'big3']) expect((await bob.next('message', { id })).id).toBe(id);
  });

  it('keeps to the bytes of the window also for a backlog, and for messages that are pushed again', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    for (let i = 0; i < 4; i++) alice.send(note(`big${i}`, 'bob'), 'x'.repeat(400));
    for (let i = 0; i < 4; i++) await alice.next('delivered');
    const pushed = () => bob.received.filter(({ type }) => type === 'message').map(({ id }) => id);
    const barrier = async () => {
      bob.send({ type: 'peek', request_id: 'barrier' });
      await bob.next('peeked');
    };
    await subscribe(bob, { window: 10, window_bytes: 1000 });
    const first = await bob.next('message', { id: 'big0' });
    const second = await bob.next('message', { id: 'big1' });
    await barrier();
    expect(pushed()).toEqual(['big0', 'big1']);
    bob.send({ type: 'nack', seqs: [first.seq], delay_ms: 0 });
    const third = await bob.next('message');
    await barrier();
    expect(pushed()).toEqual(['big0', 'big1', third.id]);
    bob.send({ type: 'ack', seqs: [second.seq] });
    const fourth = await bob.next('message');
    await barrier();
    expect(pushed()).toEqual(['big0', 'big1', third.id, fourth.id]);
    // The delay of what was given back may be over before the next message is pushed, after it, or after both.
    expect(['big0 big2', 'big2 big0', 'big2 big3']).toContain(`${third.id} ${fourth.id}`);
  });

  it('gives an inbox to the newest subscriber; acks of the old lease change nothing', async () => {
    await using broker = await startTestBroker();
    const token = await broker.token('bob');
    await using alice = await connect(broker, 'alice');
    await using first = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(first);
    alice.send(note('1', 'bob'), '{}');
    const pushed = await first.next('message');
    await using second = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(second);
    expect(await first.next('lease_lost')).toMatchObject({ reason: 'taken_over' });
    first.send({ type: 'ack', seqs: [pushed.seq], request_id: 'late' });
    expect(await first.next('ack_result')).toMatchObject({ accepted: [], rejected: [pushed.seq] });
    first.send({
      type: 'deliver',
      to: 'alice',
      id: 'r',
      kind: 'reply',
      correlation_id: '1',
      settles: pushed.seq,
    });
    expect(await first.next('error')).toMatchObject({ code: 'no_lease', field: 'settles' });
    await first[Symbol.asyncDispose]();
    const again = await second.next('message');
    expect(again.seq).toBe(pushed.seq);
    second.send({ type: 'ack', seqs: [again.seq], request_id: 'now' });
    expect(await second.next('ack_result')).toMatchObject({ accepted: [pushed.seq], rejected: [] });
    alice.send(note('2', 'bob'), '{}');
    expect((await second.next('message')).id).toBe('2');
  });

  it('acks a request in the commit that stores its reply', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(alice);
    await subscribe(bob);
    alice.send({ type: 'deliver', to: 'bob', id: 'q', kind: 'ask' }, '"?"');
    const ask = await bob.next('message');
    bob.send(
      { type: 'deliver', to: 'alice', id: 're:q', kind: 'reply', correlation_id: 'q', settles: ask.seq },
      '"!"',
    );
    await bob.next('delivered', { id: 're:q' });
    expect((await alice.next('message')).correlation_id).toBe('q');
    bob.send({ type: 'peek', request_id: 'p' });
    expect((await bob.next('peeked')).messages).toEqual([]);
    bob.send({ type: 'deliver', to: 'alice', id: 're:q', kind: 'reply', correlation_id: 'q' }, '"!"');
    expect(await bob.next('delivered')).toMatchObject({ duplicate: true });
  });

  it('hands out a nacked message again with its attempt, and parks it as dead after five, letting others pass', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob, { window: 2 });
    alice.send(note('poison', 'bob'), '{}');
    alice.send(note('behind', 'bob'), '{}');
    const attempts: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      const message = await bob.next('message', { id: 'poison' });
      attempts.push(message.attempt);
      bob.send({ type: 'nack', seqs: [message.seq], reason: 'no luck' });
    }
    expect(attempts).toEqual([undefined, 2, 3, 4, 5]);
    expect((await bob.next('message', { id: 'behind' })).id).toBe('behind');
  });

  it('cancels a request that was not pushed, tells the holder of one that was, and remembers a cancel that came first', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using mallory = await connect(broker, 'mallory');
    await using bob = await connect(broker, 'bob');
    const ask = (id: string) => alice.send({ type: 'deliver', to: 'bob', id, kind: 'ask' }, '{}');
    const cancel = (id: string) => alice.send({ type: 'cancel', to: 'bob', correlation_id: id });
    cancel('early');
    ask('early');
    ask('waiting');
    cancel('waiting');
    ask('pushed');
    for (const id of ['early', 'waiting', 'pushed']) await alice.next('delivered', { id });
    await subscribe(bob);
    expect((await bob.next('message')).id).toBe('pushed');
    mallory.send({ type: 'cancel', to: 'bob', correlation_id: 'pushed' });
    mallory.send({ type: 'list_connected', request_id: 'barrier' });
    await mallory.next('connected');
    expect(bob.received.filter((frame) => frame.type === 'cancel')).toEqual([]);
    cancel('pushed');
    expect(await bob.next('cancel')).toMatchObject({ correlation_id: 'pushed', from: { agent: 'alice' } });
  });

  it('hands ephemeral messages to a live holder only and never stores or receipts them', async () => {
    await using broker = await startTestBroker();
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    alice.send(note('e1', 'bob', { ephemeral: true }), '{}');
    expect(await alice.next('error')).toMatchObject({ code: 'no_consumer', id: 'e1', retryable: true });
    await subscribe(bob);
    alice.send(note('e2', 'bob', { ephemeral: true }), '{}');
    const message = await bob.next('message');
    expect(message).toMatchObject({ id: 'e2', from: { agent: 'alice' } });
    expect(message.seq).toBeUndefined();
    bob.send({ type: 'peek', request_id: 'p' });
    expect((await bob.next('peeked')).messages).toEqual([]);
    expect(alice.received.filter((frame) => frame.type === 'delivered')).toEqual([]);
  });

  it('tells in the receipt which lifetime holds if a longer one was asked for', async () => {
    await using broker = await startTestBroker({ limits: { message: { ttlMs: 60_000 } } });
    await using alice = await connectBroker({
      url: broker.url,
      agent: 'alice',
      token: await broker.tokenOf('alice'),
    });
    await using bob = await connect(broker, 'bob');
    const sent = (id: string, ttlMs: number) => alice.deliver({ to: 'bob', kind: 'note', id, ttlMs });
    expect(await sent('long', 60_001)).toEqual({ id: 'long', duplicate: false, ttlMs: 60_000 });
    expect(await sent('short', 59_999)).toEqual({ id: 'short', duplicate: false });
    await subscribe(bob);
    expect((await bob.next('message', { id: 'long' })).remaining_ms).toBeLessThanOrEqual(60_000);
  });

  it('lets an expired message go and keeps its neighbour', async () => {
    let now = 1_000_000;
    await using broker = await startTestBroker({ now: () => now });
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    alice.send(note('short', 'bob', { ttl_ms: 50 }), '{}');
    alice.send(note('long', 'bob', { ttl_ms: 5000 }), '{}');
    await alice.next('delivered', { id: 'long' });
    now += 60;
    await subscribe(bob);
    expect(await bob.next('message')).toMatchObject({ id: 'long', remaining_ms: 4940 });
  });
});

describe('what a receipt means', () => {
  it('delivers after kill -9 what had a receipt and was not pushed', async () => {
    await using dir = await tempDir();
    const first = await startBrokerProcess(`${dir.path}/data`);
    const operator = { agent: 'operator', token: await first.operatorToken() };
    const sender = await connectWire(first.url, operator);
    sender.send({
      type: 'admin',
      request_id: 't',
      op: 'token_issue',
      params: { agent: 'bob', role: 'worker' },
    });
    await sender.next('admin_result');
    const ids = Array.from({ length: 50 }, (_, i) => `m${i}`);
    for (const id of ids) sender.send(note(id, 'bob'), `"${id}"`);
    for (const id of ids) await sender.next('delivered', { id });
    await first.kill();
    await sender[Symbol.asyncDispose]();
    await using second = await startBrokerProcess(`${dir.path}/data`, first.port);
    await using reader = await connectWire(second.url, operator);
    reader.send({ type: 'peek', request_id: 'p', address: 'bob', limit: 1000 });
    const { messages } = await reader.next('peeked');
    expect((messages as { id: string }[]).map((m) => m.id)).toEqual(ids);
  });

  it('loses nothing and kills nothing over five restarts', async () => {
    await using broker = await startTestBroker();
    const token = await broker.token('bob');
    const sender = await connect(broker, 'alice');
    sender.send(note('kept', 'bob'), '{}');
    await sender.next('delivered');
    await sender[Symbol.asyncDispose]();
    for (let i = 0; i < 5; i++) {
      await using bob = await connectWire(broker.url, { agent: 'bob', token });
      await subscribe(bob);
      const message = await bob.next('message');
      expect(message).toMatchObject({ id: 'kept' });
      expect(message.attempt).toBeUndefined();
      bob.send({ type: 'working', seqs: [message.seq] });
      await broker.restart();
      expect((await bob.closed).code).toBe(1001);
      expect(bob.received.at(-1)).toMatchObject({ type: 'going_away' });
    }
    await using bob = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(bob);
    expect((await bob.next('message')).id).toBe('kept');
  });

  it('remembers a confirmed ack and a repeated id over kill -9', async () => {
    await using dir = await tempDir();
    const first = await startBrokerProcess(`${dir.path}/data`);
    const operator = { agent: 'operator', token: await first.operatorToken() };
    const client = await connectWire(first.url, operator);
    await subscribe(client);
    client.send(note('once', 'operator'), '{}');
    const message = await client.next('message');
    client.send({ type: 'ack', seqs: [message.seq], request_id: 'a' });
    await client.next('ack_result');
    await first.kill();
    await client[Symbol.asyncDispose]();
    await using second = await startBrokerProcess(`${dir.path}/data`, first.port);
    await using again = await connectWire(second.url, operator);
    await subscribe(again);
    again.send(note('once', 'operator'), '{}');
    expect(await again.next('delivered')).toMatchObject({ duplicate: true });
    again.send(note('new', 'operator'), '{}');
    const next = await again.next('message');
    expect(next.id).toBe('new');
    expect(next.seq).toBeGreaterThan(message.seq as number);
  });
});
