import { connectWire, lastCommit, startTestBroker, storedRows, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { ackMessage, joinGroup, joinOn } from '../support/broker/group-actions.ts';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

const group = 'role:writer';

/** Sends notes one after the other. */
async function send(alice: WireClient, ids: readonly string[], fields: Record<string, unknown> = {}) {
  for (const id of ids) await deliver(alice, group, id, { kind: 'note', ...fields });
}

const asMember = { shared: true, ack_deadline_ms: 60_000 };

async function nextId(member: WireClient): Promise<unknown> {
  return (await member.next('message')).id;
}

function idsOf(member: WireClient): unknown[] {
  return member.received.filter(({ type }) => type === 'message').map(({ id }) => id);
}

/** Sends a frame and returns the code of its refusal, or the type of its answer. */
async function answerTo(client: WireClient, frame: Record<string, unknown>, body?: string): Promise<unknown> {
  client.send({ request_id: 'r', ...frame }, body);
  const ids = frame.id === undefined ? { request_id: 'r' } : { id: frame.id };
  const types = ['error', 'subscribed', 'delivered', 'peeked', 'connected'];
  const { type, code, field } = await client.next(types, ids);
  return type === 'error' ? [code, field] : type;
}

it('gives each message to one member, to the one that has waited longest', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa');
  await using omar = await joinGroup(broker, 'omar');
  await using nils = await joinGroup(broker, 'nils', { window: 2 });
  await send(alice, ['a', 'b', 'c', 'd', 'e']);
  const first = await rosa.next('message', { id: 'a', to: group });
  await omar.next('message', { id: 'b' });
  await nils.next('message', { id: 'c' });
  const fourth = await nils.next('message', { id: 'd' });
  await ackMessage(nils, fourth);
  await nils.next('message', { id: 'e' });
  await ackMessage(rosa, first);
  await send(alice, ['f']);
  expect(await nextId(rosa)).toBe('f');
  expect(idsOf(omar)).toEqual(['b']);
});

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

it('gives the messages of a lost member to another one, and counts an attempt only if it worked on them', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  const rosa = await joinGroup(broker, 'rosa', { window: 2 });
  await send(alice, ['a', 'b']);
  const { seq } = await rosa.next('message', { id: 'b' });
  rosa.send({ type: 'working', seqs: [seq] });
  await barrier(rosa);
  await using omar = await joinGroup(broker, 'omar', { window: 2 });
  await rosa[Symbol.asyncDispose]();
  expect((await omar.next('message', { id: 'a' })).attempt).toBeUndefined();
  expect((await omar.next('message', { id: 'b' })).attempt).toBe(2);
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

it('makes a dead letter of a message that every member failed with', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await subscribe(alice);
  await using rosa = await joinGroup(broker, 'rosa');
  await using omar = await joinGroup(broker, 'omar');
  await deliver(alice, group, 'poison', { kind: 'task' });
  for (let attempt = 1; attempt <= 5; attempt++) {
    const member = attempt % 2 === 1 ? rosa : omar;
    const { seq } = await member.next('message', { id: 'poison' });
    member.send({ type: 'nack', seqs: [seq], reason: 'no' });
  }
  const notice = await alice.next('message', { kind: 'undeliverable', correlation_id: 'poison' });
  expect(notice.body).toMatch(/tried 5 times/);
});

it('keeps the order of a key: one of its messages at a time, also through the delay of a nack', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { window: 4 });
  await using omar = await joinGroup(broker, 'omar', { window: 4 });
  await send(alice, ['a1', 'a2', 'a3'], { group_key: 'a' });
  await send(alice, ['b1'], { group_key: 'b' });
  await send(alice, ['free']);
  const a1 = await rosa.next('message', { id: 'a1', group_key: 'a' });
  await omar.next('message', { id: 'b1', group_key: 'b' });
  expect((await rosa.next('message', { id: 'free' })).group_key).toBeUndefined();
  rosa.send({ type: 'nack', seqs: [a1.seq], delay_ms: 300 });
  const again = await Promise.race([rosa.next('message', { id: 'a1' }), omar.next('message', { id: 'a1' })]);
  expect(again.attempt).toBe(2);
  expect([...idsOf(rosa), ...idsOf(omar)]).not.toContain('a2');
  const holder = idsOf(omar).includes('a1') ? omar : rosa;
  await ackMessage(holder, again);
  const a2 = await Promise.race([rosa.next('message', { id: 'a2' }), omar.next('message', { id: 'a2' })]);
  const next = idsOf(omar).includes('a2') ? omar : rosa;
  next.send({ type: 'nack', seqs: [a2.seq], dead: true });
  await Promise.race([rosa.next('message', { id: 'a3' }), omar.next('message', { id: 'a3' })]);
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

it('lets only the member that took a request answer it, also after a restart', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  const rosa = await joinGroup(broker, 'rosa', { window: 2 });
  const omar = await joinGroup(broker, 'omar');
  await deliver(alice, group, 'q');
  const { seq } = await rosa.next('message', { id: 'q' });
  const reply = { type: 'deliver', to: 'alice', id: 're:q', kind: 'reply', correlation_id: 'q' };
  expect(await answerTo(omar, reply, '"!"')).toEqual(['forbidden', 'correlation_id']);
  expect(await answerTo(omar, { ...reply, settles: seq }, '"!"')).toEqual(['no_lease', 'settles']);
  expect(await answerTo(rosa, { ...reply, id: 'p', kind: 'progress' }, '"!"')).toBe('delivered');
  await broker.restart();
  await using stranger = await connect(broker, 'omar');
  await using main = await connectWire(broker.url, { agent: 'rosa', token: await broker.tokenOf('rosa') });
  expect(await answerTo(stranger, reply, '"!"')).toEqual(['forbidden', 'correlation_id']);
  expect(await answerTo(main, reply, '"!"')).toBe('delivered');
  for (const one of [rosa, omar]) await one[Symbol.asyncDispose]();
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

it('joins only members, on a connection of their own and with an ack deadline', async () => {
  await using broker = await startTestBroker({
    groups: { press: { roles: ['writer', 'editor'] } },
    roles: ['editor'],
    policies: { mute: { to: ['rosa'], kinds: ['note'] } },
  });
  const onGroups = async (agent: string, role: string) =>
    await connectWire(broker.url, { agent: `${agent}#grp-1`, token: await broker.token(agent, role) });
  await using rosa = await onGroups('rosa', 'writer');
  await using mute = await onGroups('mute', 'mute');
  await using main = await connect(broker, 'rosa', 'writer');
  const join = { type: 'subscribe', address: group, shared: true, ack_deadline_ms: 60_000 };
  const refused: [WireClient, Record<string, unknown>, unknown][] = [
    [rosa, { address: 'role:editor' }, ['forbidden', 'address']],
    [rosa, { address: 'group:nobody' }, ['unknown_recipient', 'address']],
    // It may not send there, so it is not told whether the group is there.
    [mute, { address: 'group:nobody' }, ['forbidden', 'address']],
    [rosa, { address: 'omar' }, ['bad_frame', 'address']],
    [rosa, { address: 'role:Writer' }, ['bad_frame', 'address']],
    [rosa, { address: `${group}#1` }, ['bad_frame', 'address']],
    [rosa, { address: undefined }, ['bad_frame', 'address']],
    [rosa, { shared: undefined }, ['bad_frame', 'shared']],
    [rosa, { ack_deadline_ms: undefined }, ['bad_frame', 'ack_deadline_ms']],
    [rosa, { journal: { previous: [], next: 'g' } }, ['bad_frame', 'journal']],
    [main, {}, ['bad_frame', 'address']],
    [main, { address: undefined, shared: undefined, window: 0 }, ['bad_frame', 'window']],
  ];
  for (const [client, change, refusal] of refused)
    expect(await answerTo(client, { ...join, ...change }), JSON.stringify(change)).toEqual(refusal);
  for (const address of [group, 'group:press', group])
    expect(await answerTo(rosa, { ...join, address })).toBe('subscribed');
  for (const agent of [group, 'group:press', 'role:writer#1'])
    await expect(connectWire(broker.url, { agent, token: await broker.token('x') })).rejects.toThrow('4400');
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

it('stores for a known group without members and says so, and refuses an unknown one with the nearest', async () => {
  await using broker = await startTestBroker({ roles: ['writer'], groups: { press: { roles: ['writer'] } } });
  await using alice = await connect(broker, 'alice');
  const note = { type: 'deliver', kind: 'note' };
  for (const to of [group, 'group:press']) {
    alice.send({ ...note, to, id: to }, '{}');
    expect(await alice.next('delivered', { id: to })).toMatchObject({ members: 0 });
  }
  const before = await storedRows(broker.dataDir);
  alice.send({ ...note, to: 'role:writter', id: 'typo' }, '{}');
  expect(await alice.next('error', { id: 'typo' })).toMatchObject({
    code: 'unknown_recipient',
    message: expect.stringContaining("did you mean 'role:writer'?"),
  });
  expect(await answerTo(alice, { ...note, to: 'group:writer', id: 'g' })).toEqual([
    'unknown_recipient',
    'to',
  ]);
  expect(await answerTo(alice, { ...note, to: group, id: 'e', ephemeral: true })).toEqual([
    'bad_frame',
    'ephemeral',
  ]);
  expect(await answerTo(alice, { ...note, to: 'alice', id: 'k', group_key: 'k' })).toEqual([
    'bad_frame',
    'group_key',
  ]);
  expect(await storedRows(broker.dataDir)).toBe(before);
  await using rosa = await joinGroup(broker, 'rosa');
  await rosa.next('message', { id: group });
  alice.send({ ...note, to: group, id: 'again' }, '{}');
  expect((await alice.next('delivered', { id: 'again' })).members).toBeUndefined();
});

it('lets a role write to groups only where its policy names them', async () => {
  const policies = { agents: { to: ['r*', 'alice'] }, groups: { to: ['role:wr*'] }, all: { to: ['*'] } };
  await using broker = await startTestBroker({ policies, roles: ['writer'] });
  const allowed: Record<string, string[]> = { agents: ['rosa'], groups: [group], all: ['rosa', group] };
  await broker.token('rosa');
  for (const role of Object.keys(allowed)) {
    await using client = await connect(broker, role, role);
    for (const to of ['rosa', group]) {
      const answer = await answerTo(client, { type: 'deliver', kind: 'note', id: to, to });
      expect(answer, `${role} to ${to}`).toEqual(
        allowed[role]!.includes(to) ? 'delivered' : ['forbidden', undefined],
      );
    }
  }
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

it('refuses what one sender may not have waiting for one group', async () => {
  await using broker = await startTestBroker({ roles: ['writer'] });
  await using alice = await connect(broker, 'alice');
  await using carol = await connect(broker, 'carol');
  for (let n = 0; n <= 1000; n++) alice.send({ type: 'deliver', to: group, id: `m${n}`, kind: 'note' });
  expect(await alice.next('error')).toMatchObject({
    id: 'm1000',
    code: 'quota_exceeded',
    message: expect.stringContaining(group),
  });
  await send(carol, ['a']);
});

it('sends one message to all members but its sender, in one commit, and answers a repeat with the first count', async () => {
  await using broker = await startTestBroker({ roles: ['editor'] });
  await using omar = await connect(broker, 'omar', 'writer');
  await subscribe(omar);
  const others = Array.from({ length: 20 }, (_, n) => `w${n}`);
  for (const agent of others) await broker.token(agent, 'writer');
  await using w0 = await connect(broker, 'w0', 'writer');
  await subscribe(w0);
  const all = { type: 'deliver', to: group, all: true, id: 'news', kind: 'note' };
  const commits = await lastCommit(broker.dataDir);
  omar.send(all, '"read this"');
  expect(await omar.next('delivered')).toMatchObject({ id: 'news', members: 20 });
  expect((await lastCommit(broker.dataDir)) - commits).toBe(1);
  expect(await w0.next('message')).toMatchObject({ id: 'news', to: 'w0', group, body: '"read this"' });
  await broker.token('late', 'writer');
  const before = await storedRows(broker.dataDir);
  omar.send(all, '"read this"');
  expect(await omar.next('delivered')).toMatchObject({ id: 'news', members: 20, duplicate: true });
  expect(await storedRows(broker.dataDir)).toBe(before);
  expect(omar.received.filter(({ type }) => type === 'message')).toEqual([]);
  await broker.restart();
  await using again = await connectWire(broker.url, { agent: 'omar', token: await broker.token('omar') });
  again.send(all, '"read this"');
  expect(await again.next('delivered')).toMatchObject({ members: 20, duplicate: true });
  again.send({ ...all, to: 'role:editor' });
  expect(await again.next('delivered')).toMatchObject({ members: 0 });
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
