import { connectWire, lastCommit, startTestBroker, storedRows, type WireClient } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { ackMessage, joinGroup } from '../support/broker/group-actions.ts';
import { answerTo, group, idsOf, nextId, send } from '../support/broker/groups.ts';
import { barrier, connect, deliver, subscribe } from '../support/broker/wire-actions.ts';

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
