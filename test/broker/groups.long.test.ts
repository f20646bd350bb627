import { connectWire, startTestBroker, storedRows } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { ackMessage, joinGroup, joinOn } from '../support/broker/group-actions.ts';
import { answerTo, group, idsOf, nextId, send } from '../support/broker/groups.ts';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

const asMember = { shared: true, ack_deadline_ms: 60_000 };

it('hands out what others have no room for, and does not wait for a slow member', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using slow = await joinGroup(broker, 'slow', { window: 2 });
  const ids = Array.from({ length: 40 }, (_, n) => `m${n}`);
  await send(alice, ids);
  await slow.next('message', { id: 'm1' });
  await using quick = await joinGroup(broker, 'quick');
  for (const id of ids.slice(2)) await ackMessage(quick, await quick.next('message', { id }));
  expect(idsOf(slow)).toEqual(['m0', 'm1']);
});

it('takes a message from a member that is silent for longer than its ack deadline', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { window: 2, ack_deadline_ms: 60_000 });
  await send(alice, ['a', 'b']);
  const a = await rosa.next('message', { id: 'a' });
  const b = await rosa.next('message', { id: 'b' });
  await using omar = await joinGroup(broker, 'omar');
  now += 40_000;
  rosa.send({ type: 'working', seqs: [b.seq] });
  await barrier(rosa);
  now += 30_000;
  expect((await omar.next('message', { id: 'a' })).attempt).toBe(2);
  expect(await ackMessage(rosa, a)).toMatchObject({ rejected: [a.seq] });
  expect(await ackMessage(rosa, b)).toMatchObject({ accepted: [b.seq] });
});

it('hands nothing more to a member that missed an ack deadline, and others get what it would have got', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await using alice = await connect(broker, 'alice');
  await using hung = await joinGroup(broker, 'hung');
  await send(alice, ['a', 'b', 'c']);
  await hung.next('message', { id: 'a' });
  now += 60_000;
  await using omar = await joinGroup(broker, 'omar');
  for (let n = 0; n < 3; n++) await ackMessage(omar, await omar.next('message'));
  expect(idsOf(omar).sort()).toEqual(['a', 'b', 'c']);
  expect(idsOf(hung)).toEqual(['a']);
});

it.each<[string, (seq: unknown) => Record<string, unknown>]>([
  ['acks', (seq) => ({ type: 'ack', seqs: [seq] })],
  ['gives back', (seq) => ({ type: 'nack', seqs: [seq] })],
  ['renews', (seq) => ({ type: 'working', seqs: [seq] })],
  ['settles', (seq) => ({ type: 'deliver', to: 'hung', id: 'x', kind: 'note', settles: seq })],
  ['asks for', () => ({ type: 'subscribe', request_id: 's', address: group, ...asMember })],
])('hands messages again to a member that missed an ack deadline when it %s messages', async (_, frame) => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await using alice = await connect(broker, 'alice');
  await using hung = await joinGroup(broker, 'hung');
  await send(alice, ['a']);
  const { seq } = await hung.next('message');
  now += 60_000;
  const attempt = async (): Promise<unknown> => {
    hung.send({ type: 'peek', request_id: 'p', address: group });
    return ((await hung.next('peeked')).messages as { attempt?: number }[])[0]?.attempt;
  };
  await expect.poll(attempt).toBe(2);
  expect(idsOf(hung)).toEqual(['a']);
  hung.send(frame(seq));
  await hung.next('message', { id: 'a', attempt: 2 });
});

it('looks behind the messages of one key for others, so that nobody idles', async () => {
  await using broker = await startTestBroker({ roles: ['writer'] });
  await using alice = await connect(broker, 'alice');
  const keyed = Array.from({ length: 300 }, (_, n) => `k${n}`);
  for (const id of keyed) alice.send({ type: 'deliver', to: group, id, kind: 'note', group_key: 'k' }, '{}');
  await send(alice, ['free']);
  await using rosa = await joinGroup(broker, 'rosa');
  await using omar = await joinGroup(broker, 'omar');
  let held = await rosa.next('message', { id: 'k0' });
  await ackMessage(omar, await omar.next('message', { id: 'free' }));
  for (const id of keyed.slice(1, 20)) {
    const holder = idsOf(rosa).at(-1) === held.id ? rosa : omar;
    await ackMessage(holder, held);
    held = await Promise.race([rosa.next('message', { id }), omar.next('message', { id })]);
  }
  expect(held.id).toBe('k19');
});

it('hands a request that a member has answered and lost to nobody else', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await subscribe(alice);
  const rosa = await joinGroup(broker, 'rosa', { window: 2 });
  await deliver(alice, group, 'answered', { kind: 'task' });
  await deliver(alice, group, 'open', { kind: 'task' });
  await rosa.next('message', { id: 'open' });
  await using elsewhere = await connect(broker, 'rosa', 'writer');
  await deliver(elsewhere, 'alice', 're', { kind: 'reply', correlation_id: 'answered' });
  await alice.next('message', { correlation_id: 'answered' });
  await rosa[Symbol.asyncDispose]();
  await using omar = await joinGroup(broker, 'omar', { window: 2 });
  await omar.next('message', { id: 'open' });
  const waiting = async (): Promise<unknown> => {
    omar.send({ type: 'peek', request_id: 'p', address: group });
    return (await omar.next('peeked')).messages;
  };
  await expect.poll(waiting).toMatchObject([{ id: 'open' }]);
  expect(idsOf(omar)).toEqual(['open']);
});

it('acks a request of a group in the commit that stores its reply', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await subscribe(alice);
  await using rosa = await joinGroup(broker, 'rosa');
  await deliver(alice, group, 'q');
  await deliver(alice, group, 'r');
  const { seq } = await rosa.next('message', { id: 'q' });
  await deliver(rosa, 'alice', 're:q', { kind: 'reply', correlation_id: 'q', settles: seq });
  expect((await alice.next('message', { id: 're:q' })).from).toMatchObject({ agent: 'rosa', role: 'writer' });
  await rosa.next('message', { id: 'r' });
  await using omar = await joinGroup(broker, 'omar');
  await rosa[Symbol.asyncDispose]();
  expect((await omar.next('message')).id).toBe('r');
});

it('changes the window of a member that joins again; with 0 it keeps what it has and gets nothing more', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { window: 2 });
  await send(alice, ['a']);
  const a = await rosa.next('message', { id: 'a' });
  await joinOn(rosa, { window: 0 });
  await send(alice, ['b']);
  expect(await ackMessage(rosa, a)).toMatchObject({ accepted: [a.seq] });
  await barrier(rosa);
  expect(idsOf(rosa)).toEqual(['a']);
  await joinOn(rosa, { window: 1 });
  expect(await nextId(rosa)).toBe('b');
});

it('takes the lease from a member whose role is taken out of the group, and gives what it had to the others', async () => {
  const groups = { press: { roles: ['writer', 'editor'] } };
  await using broker = await startTestBroker({ groups });
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { address: 'group:press' });
  await deliver(alice, 'group:press', 'a', { kind: 'note' });
  const { seq } = await rosa.next('message', { id: 'a' });
  await using omar = await joinGroup(broker, 'omar', { address: 'group:press' }, 'editor');
  broker.broker.setGroups({ press: { roles: ['editor'] } });
  expect(await rosa.next('lease_lost')).toMatchObject({ reason: 'forbidden' });
  await omar.next('message', { id: 'a' });
  expect(await ackMessage(rosa, { type: 'message', seq })).toMatchObject({ rejected: [seq] });
  expect(await joinOn(rosa, { address: 'group:press' })).toMatchObject({ code: 'forbidden' });
  expect(await joinOn(rosa)).toMatchObject({ type: 'subscribed' });
});

it('shows a group to its members and to operators, and cancels a request of it', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using operator = await connectOperator(broker);
  await using rosa = await joinGroup(broker, 'rosa');
  await using main = await connectWire(broker.url, { agent: 'rosa', token: await broker.tokenOf('rosa') });
  await deliver(alice, group, 'a', { group_key: 'k' });
  await deliver(alice, group, 'b', { group_key: 'k' });
  await rosa.next('message', { id: 'a' });
  const peek = { type: 'peek', address: group };
  expect(await answerTo(alice, peek)).toEqual(['not_yours', 'address']);
  for (const client of [main, operator]) {
    client.send({ ...peek, request_id: 'p' });
    const { messages } = await client.next('peeked', { request_id: 'p' });
    expect(messages).toMatchObject([{ id: 'a', group_key: 'k' }, { id: 'b' }]);
  }
  for (const id of ['b', 'a']) alice.send({ type: 'cancel', to: group, correlation_id: id });
  expect(await rosa.next('cancel')).toMatchObject({ correlation_id: 'a' });
  await deliver(alice, group, 'c', { group_key: 'k' });
  const { seq } = rosa.received.find(({ id }) => id === 'a')!;
  await ackMessage(rosa, { type: 'message', seq });
  expect(await nextId(rosa)).toBe('c');
});

it('shows operators what waits in groups, their history and their dead letters', async () => {
  await using broker = await startTestBroker({ groups: { press: { roles: ['writer', 'editor'] } } });
  await using alice = await connect(broker, 'alice');
  await using operator = await connectOperator(broker);
  await using rosa = await joinGroup(broker, 'rosa', { address: 'group:press' });
  await deliver(alice, 'group:press', 'bad', { kind: 'note' });
  await deliver(alice, 'group:press', 'good', { kind: 'note', group_key: 'k' });
  const { seq } = await rosa.next('message', { id: 'bad' });
  rosa.send({ type: 'nack', seqs: [seq], dead: true, reason: 'no', request_id: 'nack' });
  await rosa.next('ack_result', { request_id: 'nack' });
  await rosa.next('message', { id: 'good' });
  expect(await admin(operator, 'waiting', { connected: false })).toMatchObject({
    agents: [{ agent: 'group:press', roles: ['writer', 'editor'], pending: 1 }],
  });
  const { messages } = await admin<{ messages: unknown[] }>(operator, 'history', {
    since: 0,
    agent: 'group:press',
  });
  expect(messages).toMatchObject([{ id: 'bad', outcome: 'dead' }, { id: 'good' }]);
  expect(await admin(operator, 'dead_list', { inbox: 'group:press' })).toMatchObject({
    messages: [{ id: 'bad', inbox: 'group:press' }],
  });
  expect(await admin(operator, 'dead_retry', { seqs: [seq] })).toMatchObject({ retried: [seq] });
  await ackMessage(rosa, rosa.received.find(({ id }) => id === 'good')!);
  await rosa.next('message', { id: 'bad' });
});

it('stores a message for nobody if one member has no room, and with partial for the others', async () => {
  const limits = { inbox: { messages: 1 }, store: { reservePercent: 0 } };
  await using broker = await startTestBroker({ limits });
  await using alice = await connect(broker, 'alice');
  for (const agent of ['omar', 'rosa', 'nils']) await broker.token(agent, 'writer');
  await deliver(alice, 'rosa', 'first', { kind: 'note' });
  const before = await storedRows(broker.dataDir);
  const all = { type: 'deliver', to: group, all: true, kind: 'note' };
  alice.send({ ...all, id: 'a' });
  expect(await alice.next('error', { id: 'a' })).toMatchObject({
    code: 'inbox_full',
    message: expect.stringContaining("'rosa'"),
  });
  expect(await storedRows(broker.dataDir)).toBe(before);
  alice.send({ ...all, id: 'b', partial: true });
  const refused = [{ agent: 'rosa', code: 'inbox_full' }];
  expect(await alice.next('delivered', { id: 'b' })).toMatchObject({ members: 2, refused });
  alice.send({ ...all, id: 'b', partial: true });
  expect(await alice.next('delivered', { id: 'b' })).toMatchObject({ members: 2, refused, duplicate: true });
  await using operator = await connectOperator(broker);
  expect(await admin(operator, 'history', { since: 0, agent: group })).toMatchObject({
    messages: [{ id: 'b', outcome: 'acked', reason: 'stored for 2 members, refused for 1' }],
  });
});

it('counts each copy against its sender before any is stored', async () => {
  const limits = { sender: { messages: 3 } };
  await using broker = await startTestBroker({ limits });
  await using alice = await connect(broker, 'alice');
  for (const agent of ['a', 'b', 'c', 'd']) await broker.token(agent, 'writer');
  const all = { type: 'deliver', to: group, all: true, kind: 'note' };
  alice.send({ ...all, id: 'x' });
  expect(await alice.next('error')).toMatchObject({ code: 'quota_exceeded' });
  alice.send({ ...all, id: 'y', partial: true });
  expect(await alice.next('delivered')).toMatchObject({ members: 3, refused: [{ agent: 'd' }] });
});

it('refuses all where it makes no sense, and to more members than a message may go to', async () => {
  const limits = { message: { recipients: 2, recipientBytes: 100 } };
  await using broker = await startTestBroker({ limits });
  await using alice = await connect(broker, 'alice');
  for (const agent of ['rosa', 'omar']) await broker.token(agent, 'writer');
  const all = { type: 'deliver', to: group, all: true, kind: 'note' };
  const refused: [Record<string, unknown>, unknown][] = [
    [{ to: 'rosa' }, ['bad_frame', 'all']],
    [{ all: undefined, partial: true }, ['bad_frame', 'partial']],
    [{ group_key: 'k' }, ['bad_frame', 'group_key']],
    [{ ephemeral: true }, ['bad_frame', 'all']],
    [{ kind: 'ask' }, ['bad_frame', 'all']],
    [{ kind: 'reply', correlation_id: 'x' }, ['bad_frame', 'all']],
    [{ to: 'role:writers' }, ['unknown_recipient', 'to']],
  ];
  const before = await storedRows(broker.dataDir);
  for (const [change, refusal] of refused)
    expect(await answerTo(alice, { ...all, id: 'x', ...change }), JSON.stringify(change)).toEqual(refusal);
  expect(await storedRows(broker.dataDir)).toBe(before);
  const long = JSON.stringify('x'.repeat(49));
  expect(await answerTo(alice, { ...all, id: 'x' }, long)).toEqual(['message_too_large', 'all']);
  expect(await storedRows(broker.dataDir)).toBe(before);
  expect(await answerTo(alice, { ...all, id: 'x' }, JSON.stringify('x'.repeat(48)))).toBe('delivered');
  await broker.token('nils', 'writer');
  expect(await answerTo(alice, { ...all, id: 'y' })).toEqual(['bad_frame', 'all']);
});

it('tells the sender of a task for all members of each copy that ended unanswered', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await subscribe(alice);
  const members = [await connect(broker, 'rosa', 'writer'), await connect(broker, 'omar', 'writer')];
  alice.send({ type: 'deliver', to: group, all: true, id: 't', kind: 'task' }, '"do"');
  for (const member of members) {
    await subscribe(member);
    const { seq } = await member.next('message', { id: 't', group });
    member.send({ type: 'nack', seqs: [seq], dead: true, reason: 'no' });
  }
  const told = [];
  for (let n = 0; n < 2; n++) {
    const { body } = await alice.next('message', { kind: 'undeliverable', correlation_id: 't' });
    told.push(JSON.parse(body!).detail);
  }
  expect(told.sort()).toEqual([`'omar' of '${group}': no`, `'rosa' of '${group}': no`]);
  for (const member of members) await member[Symbol.asyncDispose]();
});
