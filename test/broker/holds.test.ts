import type { Hold } from '@signalbox/protocol';
import { startTestBroker, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { joinGroup } from '../support/broker/group-actions.ts';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

const reason = 'it deletes files';

interface Refused {
  type?: string;
  code?: string;
  message?: string;
}

async function hold(operator: WireClient, fields: Record<string, unknown>): Promise<Hold> {
  return (await admin<{ hold: Hold }>(operator, 'hold', { reason, ...fields })).hold;
}

function idsOf(client: WireClient): unknown[] {
  return client.received.filter(({ type }) => type === 'message').map(({ id }) => id);
}

async function refusalOf(client: WireClient, id: string, fields: Record<string, unknown>): Promise<Refused> {
  client.send({ type: 'deliver', to: 'walt', id, kind: 'note', ...fields }, '{}');
  const { type, code, message, retryable } = await client.next(['error', 'delivered'], { id });
  return type === 'error' ? ({ code, message, retryable } as Refused) : {};
}

const onRosa = { on: 'agent', name: 'rosa' };

it('pushes nothing new to a held agent, and its mail in order after the release', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await using walt = await connect(broker, 'walt');
  await subscribe(rosa);
  await subscribe(walt);
  await deliver(alice, 'rosa', 'before');
  await rosa.next('message', { id: 'before' });
  const { id } = await hold(operator, onRosa);
  for (const n of [1, 2, 3]) await deliver(alice, 'rosa', `m${n}`, { kind: 'note' });
  await deliver(alice, 'walt', 'his');
  await walt.next('message', { id: 'his' });
  await barrier(rosa);
  expect(idsOf(rosa)).toEqual(['before']);
  expect(await admin(operator, 'release', { ids: [id] })).toMatchObject({
    released: [{ id, by: 'operator' }],
  });
  await deliver(alice, 'rosa', 'm4', { kind: 'note' });
  await rosa.next('message', { id: 'm4' });
  expect(idsOf(rosa)).toEqual(['before', 'm1', 'm2', 'm3', 'm4']);
});

it('keeps its order and loses nothing when agents are held and released again and again under load', async () => {
  await using broker = await startTestBroker({ durability: 'process' });
  await using operator = await connectOperator(broker);
  await using rosa = await connect(broker, 'rosa');
  await subscribe(rosa, { window: 1000 });
  const sent: string[] = [];
  for (let round = 0; round < 12; round++) {
    const placed = round % 2 === 1 ? await hold(operator, { on: 'role', name: 'worker' }) : undefined;
    await barrier(rosa, `b${round}`);
    const had = idsOf(rosa).length;
    const ids = Array.from({ length: 25 }, (_, n) => `r${round}-${n}`);
    sent.push(...ids);
    for (const id of ids) operator.send({ type: 'deliver', to: 'rosa', id, kind: 'note' }, '{}');
    if (!placed) continue;
    await operator.next('delivered', { id: ids.at(-1)! });
    await barrier(rosa, `c${round}`);
    expect(idsOf(rosa)).toHaveLength(had);
    await admin(operator, 'release', { ids: [placed.id] });
  }
  await rosa.next('message', { id: sent.at(-1)! });
  expect(idsOf(rosa)).toEqual(sent);
});

it('refuses what a held agent sends, says who holds it, since when and why, and takes its answers, acks and requests for calls', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await using walt = await connect(broker, 'walt');
  await subscribe(alice);
  await subscribe(rosa);
  await broker.token('orchestrator', 'orchestrator');
  await deliver(alice, 'rosa', 'q1');
  await deliver(alice, 'rosa', 'n1', { kind: 'note' });
  const { seq } = await rosa.next('message', { id: 'n1' });
  const { id, created_at } = await hold(operator, onRosa);
  const since = new Date(created_at).toISOString();
  expect(await refusalOf(rosa, 'x1', {})).toEqual({
    code: 'held',
    retryable: true,
    message: `operator holds agent 'rosa' since ${since}: ${reason} (hold ${id}); send it again after the release`,
  });
  expect(await refusalOf(rosa, 'x2', { kind: 'task' })).toHaveProperty('code', 'held');
  expect(await refusalOf(rosa, 'x3', { kind: 'reply', correlation_id: 'made-up' })).not.toEqual({});
  expect(await refusalOf(rosa, 'c1', { to: 'orchestrator', kind: 'mcp_request' })).toEqual({});
  expect(await refusalOf(rosa, 'a1', { to: 'alice', kind: 'reply', correlation_id: 'q1' })).toEqual({});
  await alice.next('message', { id: 'a1' });
  rosa.send({ type: 'ack', request_id: 'ack', seqs: [seq] });
  expect(await rosa.next('ack_result', { request_id: 'ack' })).toMatchObject({ accepted: [seq] });
  expect(await refusalOf(walt, 'y1', { to: 'alice' })).toEqual({});
  await admin(operator, 'release', { on: 'agent', name: 'rosa' });
  expect(await refusalOf(rosa, 'x1', {})).toEqual({});
});

it('keeps holds over a restart', async () => {
  await using broker = await startTestBroker();
  await broker.token('rosa');
  const until = Date.now() + 3_600_000;
  {
    await using operator = await connectOperator(broker);
    await hold(operator, { ...onRosa, until, cancel_running: true });
  }
  await broker.restart();
  await using operator = await connectOperator(broker);
  expect(await admin(operator, 'holds')).toMatchObject({
    holds: [{ ...onRosa, reason, by: 'operator', until, cancel_running: true }],
  });
  await using rosa = await connect(broker, 'rosa');
  expect(await refusalOf(rosa, 'x1', { to: 'operator' })).toHaveProperty('code', 'held');
});

it('ends a hold at its time by the clock of the broker', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await using operator = await connectOperator(broker);
  await using rosa = await connect(broker, 'rosa');
  await connect(broker, 'walt');
  await hold(operator, { ...onRosa, for_ms: 30_000 });
  expect(await refusalOf(rosa, 'x1', {})).toHaveProperty('code', 'held');
  now += 30_001;
  await expect.poll(() => admin(operator, 'holds')).toEqual({ holds: [] });
  expect(await refusalOf(rosa, 'x1', {})).toEqual({});
  const past = await admin<Refused>(operator, 'hold', { ...onRosa, reason, until: now });
  expect(past).toMatchObject({ code: 'bad_frame', field: 'params.until' });
});

it('hands messages of a group to other members while one is held, and a held member starts empty', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { window: 10 });
  await using omar = await joinGroup(broker, 'omar', { window: 10 });
  await hold(operator, onRosa);
  for (const id of ['a', 'b', 'c']) await deliver(alice, 'role:writer', id, { kind: 'note' });
  await omar.next('message', { id: 'c' });
  expect(idsOf(omar)).toEqual(['a', 'b', 'c']);
  expect(idsOf(rosa)).toEqual([]);
  await hold(operator, { on: 'agent', name: 'omar' });
  await deliver(alice, 'role:writer', 'd', { kind: 'note' });
  await barrier(omar);
  await admin(operator, 'release', onRosa);
  await rosa.next('message', { id: 'd' });
});

it('brings answers to the sub-inbox of a held agent, and keeps everything else from it', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa#mcp-1');
  await subscribe(alice);
  await subscribe(rosa);
  await deliver(rosa, 'alice', 'q1');
  await alice.next('message', { id: 'q1' });
  await hold(operator, { on: 'all' });
  await deliver(operator, 'rosa#mcp-1', 't1', { kind: 'task' });
  await deliver(operator, 'rosa#mcp-1', 't2', { kind: 'note' });
  await deliver(alice, 'rosa#mcp-1', 'a1', { kind: 'reply', correlation_id: 'q1' });
  await rosa.next('message', { id: 'a1' });
  expect(idsOf(rosa)).toEqual(['a1']);
  rosa.send({ type: 'peek', request_id: 'p' });
  expect(await rosa.next('peeked', { request_id: 'p' })).toMatchObject({
    messages: [{ id: 'a1' }],
    held_back: 2,
  });
  operator.send({ type: 'peek', request_id: 'o', address: 'rosa#mcp-1' });
  expect(await operator.next('peeked', { request_id: 'o' })).toMatchObject({
    messages: [{ id: 't1' }, { id: 't2' }, { id: 'a1' }],
    held_back: 2,
  });
  await admin(operator, 'release', { on: 'all' });
  await deliver(operator, 'rosa#mcp-1', 't3', { kind: 'note' });
  await rosa.next('message', { id: 't3' });
  expect(idsOf(rosa)).toEqual(['a1', 't1', 't2', 't3']);
});

it('counts no waiting answer as held back, on the first page or a later one', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await subscribe(alice);
  await deliver(rosa, 'alice', 'q1');
  await alice.next('message', { id: 'q1' });
  for (const id of ['n1', 'n2']) await deliver(alice, 'rosa', id, { kind: 'note' });
  await deliver(alice, 'rosa', 'a1', { kind: 'reply', correlation_id: 'q1' });
  await hold(operator, { on: 'agent', name: 'rosa' });
  for (const page of [{ limit: 1 }, { limit: 2, after: 2 }, { limit: 9 }, { limit: 8, after: 999 }]) {
    const request_id = `p${page.limit}`;
    operator.send({ type: 'peek', request_id, address: 'rosa', ...page });
    expect(await operator.next('peeked', { request_id })).toMatchObject({ held_back: 2 });
  }
});

it('never holds operators, approvers and orchestrators', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using lead = await connect(broker, 'lead', 'worker');
  await admin(operator, 'token_issue', { agent: 'lead', role: 'worker', approves: ['*'] });
  await using rosa = await connect(broker, 'rosa', 'worker');
  await hold(operator, { on: 'all' });
  await hold(operator, { on: 'role', name: 'worker' });
  expect(await refusalOf(lead, 'x1', { to: 'rosa' })).toEqual({});
  expect(await refusalOf(operator, 'x2', { to: 'rosa' })).toEqual({});
  expect(await refusalOf(rosa, 'x3', { to: 'lead' })).toHaveProperty('code', 'held');
  for (const subject of [
    { on: 'agent', name: 'lead' },
    { on: 'agent', name: 'operator' },
    { on: 'role', name: 'operator' },
    { on: 'role', name: 'orchestrator' },
  ])
    expect(await admin(operator, 'hold', { ...subject, reason })).toMatchObject({ code: 'forbidden' });
});

it('names the nearest agent and role for one that it does not know, and takes it only unchecked', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using _rosa = await connect(broker, 'rosa', 'builder');
  const refused = (on: string, name: string) => admin<Refused>(operator, 'hold', { on, name, reason });
  expect(await refused('agent', 'rossa')).toMatchObject({ code: 'unknown_hold' });
  expect((await refused('agent', 'rossa')).message).toContain("did you mean 'rosa'?");
  expect((await refused('role', 'bilder')).message).toContain("did you mean 'builder'?");
  expect(await hold(operator, { on: 'agent', name: 'rossa', unchecked: true })).toMatchObject({
    name: 'rossa',
  });
});

it('lets two operators hold one agent, and releases by subject only where that is clear', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using kim = await connect(broker, 'operator.kim', 'operator');
  await using rosa = await connect(broker, 'rosa');
  const release = (params: Record<string, unknown>) => admin<Refused>(operator, 'release', params);
  expect((await release(onRosa)).message).toContain("no hold is on agent 'rosa'");
  const all = await hold(kim, { on: 'all' });
  expect((await release(onRosa)).message).toContain(`operator.kim holds everything since`);
  const first = await hold(operator, onRosa);
  const second = await hold(kim, { ...onRosa, reason: 'maintenance' });
  const refused = await release(onRosa);
  expect(refused.message).toMatch(new RegExp(`2 holds are on agent 'rosa'.*${first.id}.*${second.id}`));
  await release({ ids: [first.id, all.id] });
  expect(await refusalOf(rosa, 'x1', { to: 'operator' })).toMatchObject({
    message: expect.stringContaining('operator.kim'),
  });
  expect(await release({ ids: [first.id] })).toMatchObject({ code: 'unknown_hold' });
  expect(await release(onRosa)).toMatchObject({ released: [{ id: second.id }] });
  expect(await refusalOf(rosa, 'x1', { to: 'operator' })).toEqual({});
});

it('tells orchestrators the holds at once and after each change, and nobody else', async () => {
  await using broker = await startTestBroker();
  await using operator = await connectOperator(broker);
  await using orchestrator = await connect(broker, 'orchestrator', 'orchestrator');
  await using rosa = await connect(broker, 'rosa');
  const told = () => orchestrator.received.filter(({ type }) => type === 'holds').at(-1);
  orchestrator.send({ type: 'follow_holds' });
  await expect.poll(told).toMatchObject({ holds: [], approvers: [] });
  const placing = hold(operator, { on: 'tool', name: 'mcp_db__*' });
  await expect.poll(told).toMatchObject({ holds: [{ name: 'mcp_db__*' }], approvers: ['operator'] });
  orchestrator.send({ type: 'holds_known', version: told()!.version });
  expect(told()).toHaveProperty('holds', [await placing]);
  const placed = await placing;
  await admin(operator, 'token_issue', { agent: 'lead', role: 'worker', approves: ['*'] });
  await expect.poll(told).toMatchObject({ approvers: ['lead', 'operator'] });
  for (const frame of [{ type: 'follow_holds' }, { type: 'holds_known', version: 1 }]) {
    rosa.send(frame);
    expect(await rosa.next('error')).toMatchObject({ code: 'forbidden' });
  }
  await admin(operator, 'release', { ids: [placed.id] });
  await expect.poll(told).toMatchObject({ holds: [] });
  expect(rosa.received.filter(({ type }) => type === 'holds')).toEqual([]);
});
