import {
  connectWire,
  startTestBroker,
  storedRows,
  type TestBroker,
  type WireClient,
} from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin, subscribe } from '../support/broker/wire-actions.ts';

async function connect(broker: TestBroker, agent: string, role = 'worker'): Promise<WireClient> {
  return connectWire(broker.url, { agent, token: await broker.token(agent, role) });
}

/** Sends a request of alice and returns it as bob has it. */
async function ask(alice: WireClient, bob: WireClient, id: string, more: Record<string, unknown> = {}) {
  alice.send({ type: 'deliver', to: 'bob', id, kind: 'ask', ...more }, '"?"');
  return bob.next('message', { id });
}

function reply(id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { type: 'deliver', to: 'alice', id: `re:${id}`, kind: 'reply', correlation_id: id, ...more };
}

async function answer(client: WireClient, frame: Record<string, unknown>): Promise<unknown> {
  client.send(frame, '"!"');
  const { type, code, duplicate } = await client.next(['delivered', 'error'], { id: frame.id });
  return type === 'error' ? code : duplicate ? 'duplicate' : 'delivered';
}

it('takes one answer to each request, from the agent that it was sent to, in any role', async () => {
  await using broker = await startTestBroker({ policies: { mute: { to: [] } } });
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob', 'mute');
  await using boss = await connect(broker, 'human', 'operator');
  await using hub = await connect(broker, 'orchestrator', 'orchestrator');
  await subscribe(bob);
  await ask(alice, bob, 'q');
  alice.send({ type: 'deliver', to: 'bob', id: 'note', kind: 'note' }, '"!"');
  const { seq } = await bob.next('message', { id: 'note' });
  const before = await storedRows(broker.dataDir);
  for (const stranger of [hub, boss]) {
    expect(await answer(stranger, reply('q'))).toBe('forbidden');
    expect(await answer(stranger, reply('q', { id: 'x', kind: 'mcp_reply' }))).toBe('forbidden');
    expect(await answer(stranger, reply('q', { correlation_id: undefined }))).toBe('forbidden');
  }
  // A note is no request: its recipient may not write back to an agent that its role does not reach.
  for (let n = 0; n < 20; n++) expect(await answer(bob, reply('note', { id: `n${n}` }))).toBe('forbidden');
  expect(await answer(bob, reply('note', { settles: seq }))).toBe('forbidden');
  expect(await storedRows(broker.dataDir)).toBe(before);
  expect(await answer(bob, reply('q', { id: 'p', kind: 'progress' }))).toBe('delivered');
  expect(await answer(bob, reply('q'))).toBe('delivered');
  const after = await storedRows(broker.dataDir);
  expect(await answer(bob, reply('q'))).toBe('duplicate');
  expect(await storedRows(broker.dataDir)).toBe(after);
  expect(await answer(bob, reply('q', { id: 'p2', kind: 'progress' }))).toBe('already_answered');
  expect(await answer(bob, reply('q', { id: 'other' }))).toBe('already_answered');
});

it('takes one answer of an operator to what an operator was asked, acks the request with it, and tells the audit log and the tail', async () => {
  await using broker = await startTestBroker();
  await using rosa = await connect(broker, 'rosa');
  await using alice = await connect(broker, 'operator.alice', 'operator');
  await using bob = await connect(broker, 'operator.bob', 'operator');
  await using olga = await connect(broker, 'operator.olga', 'observer');
  await using hub = await connect(broker, 'orchestrator', 'orchestrator');
  const asked = async (to: string, id: string, kind = 'ask') => {
    rosa.send({ type: 'deliver', to, id, kind }, '"?"');
    await rosa.next('delivered', { id });
  };
  const to = (by: string, id: string, inbox: string, more: Record<string, unknown> = {}) =>
    reply(id, { to: 'rosa', id: `${by}-${id}`, asked: inbox, ...more });
  const waiting = async (address: string) => {
    alice.send({ type: 'peek', request_id: 'w', address });
    return (await alice.next('peeked')).messages as { id: string }[];
  };
  await asked('operator.bob', 'q');
  await asked('operator.bob', 'job', 'task');
  await asked('operator.bob', 'note', 'note');
  await asked('orchestrator', 'other');
  await admin(bob, 'tail', { on: true });
  for (const stranger of [olga, hub, rosa])
    expect(await answer(stranger, to('x', 'q', 'operator.bob'))).toMatch(/^(not_yours|forbidden)$/);
  expect(await answer(alice, to('x', 'other', 'orchestrator'))).toBe('not_yours');
  expect(await answer(alice, to('x', 'q', 'operator'))).toBe('forbidden');
  expect(await answer(alice, to('x', 'note', 'operator.bob'))).toBe('forbidden');
  expect(await answer(alice, to('x', 'q', 'operator.bob', { to: 'eve' }))).toBe('forbidden');
  expect(await answer(alice, to('x', 'q', 'operator.bob', { kind: 'note' }))).toBe('bad_frame');
  expect(await answer(alice, to('x', 'q', 'operator.bob', { settles: 1 }))).toBe('bad_frame');
  expect(await waiting('operator.bob')).toHaveLength(3);
  // Both at the same moment.
  const both = [answer(alice, to('alice', 'q', 'operator.bob')), answer(bob, to('bob', 'q', 'operator.bob'))];
  expect((await Promise.all(both)).sort()).toEqual(['already_answered', 'delivered']);
  expect(await answer(alice, to('alice', 'job', 'operator.bob'))).toBe('delivered');
  expect((await waiting('operator.bob')).map(({ id }) => id)).toEqual(['note']);
  await broker.restart();
  await using again = await connect(broker, 'operator.alice', 'operator');
  expect(await answer(again, to('alice', 'job', 'operator.bob'))).toBe('duplicate');
  await using back = await connect(broker, 'rosa');
  await subscribe(back);
  const answers = [await back.next('message'), await back.next('message')];
  expect(answers).toMatchObject([
    { kind: 'reply', correlation_id: 'q' },
    { kind: 'reply', correlation_id: 'job', from: { agent: 'operator.alice' } },
  ]);
  const settled = bob.received
    .filter(({ kind }) => kind === 'event')
    .map(({ body }) => JSON.parse(body!))
    .filter(({ what }) => what === 'settled');
  expect(settled).toMatchObject([
    { outcome: 'acked', message: { id: 'q', kind: 'ask', from: { agent: 'rosa' } } },
    { outcome: 'acked', message: { id: 'job', kind: 'task' } },
  ]);
  const { rows } = (await admin(again, 'audit', { kinds: ['change'], since: 0 })) as {
    rows: { entry: string }[];
  };
  const entries = rows.map(({ entry }) => JSON.parse(entry));
  expect(entries.filter(({ code }) => code === 'request_answered')).toMatchObject([
    { name: 'operator.bob', detail: "the request 'q' of 'rosa'" },
    { name: 'operator.bob', detail: "the request 'job' of 'rosa'", agent: 'operator.alice' },
  ]);
});

it('says in the receipt of a reply that nobody holds the inbox of its requester, and in no other', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await subscribe(bob);
  const receipt = async (frame: Record<string, unknown>) => {
    bob.send(frame, '"!"');
    return await bob.next('delivered', { id: frame.id });
  };
  for (const id of ['first', 'second']) await ask(alice, bob, id);
  expect(await receipt(reply('first'))).toEqual({ type: 'delivered', id: 're:first', no_consumer: true });
  expect(await receipt(reply('first'))).toMatchObject({ duplicate: true, no_consumer: true });
  const note = { type: 'deliver', to: 'alice', id: 'note', kind: 'note' };
  expect(await receipt(note)).toEqual({ type: 'delivered', id: 'note' });
  await subscribe(alice);
  expect(await receipt(reply('second'))).toEqual({ type: 'delivered', id: 're:second' });
});

it('acks a request that is answered already, also for the connection that holds it', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using bob = await connect(broker, 'bob');
  await using twin = await connect(broker, 'bob');
  await subscribe(bob, { window: 1 });
  const { seq } = await ask(alice, bob, 'q');
  expect(await answer(twin, reply('q', { id: 'first' }))).toBe('delivered');
  expect(await answer(twin, reply('q', { id: 'second' }))).toBe('already_answered');
  // Its window has room again.
  const next = await ask(alice, bob, 'q2');
  expect(await answer(twin, reply('q2', { id: 'first2' }))).toBe('delivered');
  expect(await answer(bob, reply('q2', { settles: next.seq }))).toBe('already_answered');
  expect((await ask(alice, bob, 'q3')).seq).toBeGreaterThan(seq as number);
  bob.send({ type: 'peek', request_id: 'p' });
  expect((await bob.next('peeked')).messages).toMatchObject([{ id: 'q3' }]);
});

it('takes the reply to an acked request over a restart until five minutes after its deadline, and none after a notice', async () => {
  let now = 1_700_000_000_000;
  await using broker = await startTestBroker({ now: () => now });
  const brief = { ttl_ms: 60_000 };
  {
    await using alice = await connect(broker, 'alice');
    await using bob = await connect(broker, 'bob');
    await subscribe(bob);
    for (const id of ['in-time', 'too-late']) {
      const { seq } = await ask(alice, bob, id, brief);
      bob.send({ type: 'ack', seqs: [seq], request_id: id });
      await bob.next('ack_result', { request_id: id });
    }
    const { seq } = await ask(alice, bob, 'dead', brief);
    bob.send({ type: 'nack', seqs: [seq], dead: true, request_id: 'dead' });
    await bob.next('ack_result', { request_id: 'dead' });
  }
  await broker.restart();
  await using bob = await connect(broker, 'bob');
  expect(await answer(bob, reply('dead'))).toBe('already_answered');
  now += 60_000 + 5 * 60_000 - 1;
  expect(await answer(bob, reply('in-time'))).toBe('delivered');
  now += 1;
  expect(await answer(bob, reply('too-late'))).toBe('already_answered');
  await using alice = await connect(broker, 'alice');
  alice.send({ type: 'peek', request_id: 'p' });
  const { messages } = await alice.next('peeked');
  expect(messages).toMatchObject([{ kind: 'undeliverable' }, { id: 're:in-time' }]);
});
