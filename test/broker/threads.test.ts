import { startTestBroker } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { joinGroup } from '../support/broker/group-actions.ts';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

it('shows the thread of a message to its recipient, in a peek and in the history', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await deliver(alice, 'rosa', 'a', { kind: 'note', thread: 'th' });
  await deliver(alice, 'rosa', 'b', { kind: 'note' });
  rosa.send({ type: 'peek', request_id: 'p' });
  expect(await rosa.next('peeked')).toMatchObject({ messages: [{ id: 'a', thread: 'th' }, { id: 'b' }] });
  await subscribe(rosa);
  expect((await rosa.next('message', { id: 'a' })).thread).toBe('th');
  expect((await rosa.next('message', { id: 'b' })).thread).toBeUndefined();
  await using operator = await connectOperator(broker);
  const { messages } = await admin(operator, 'history', { since: 0 });
  expect(messages).toMatchObject([{ id: 'a', thread: 'th' }, { id: 'b' }]);
  expect((messages as object[])[1]).not.toHaveProperty('thread');
});

it('gives replies and notices the thread of their request', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await subscribe(alice);
  await subscribe(rosa);
  for (const id of ['settled', 'acked', 'given-up'])
    await deliver(alice, 'rosa', id, { kind: 'task', thread: 'th' });
  const { seq: settles } = await rosa.next('message', { id: 'settled', thread: 'th' });
  await deliver(rosa, 'alice', 'r1', { kind: 'reply', correlation_id: 'settled', settles });
  expect((await alice.next('message', { id: 'r1' })).thread).toBe('th');
  await rosa.next('message', { id: 'acked' });
  await deliver(rosa, 'alice', 'r2', { kind: 'reply', correlation_id: 'acked' });
  expect((await alice.next('message', { id: 'r2' })).thread).toBe('th');
  const { seq } = await rosa.next('message', { id: 'given-up' });
  rosa.send({ type: 'nack', seqs: [seq], dead: true });
  expect((await alice.next('message', { kind: 'undeliverable' })).thread).toBe('th');
  // A request that belongs to another message has the thread of that one.
  await deliver(alice, 'rosa', 'next', { kind: 'task', correlation_id: 'first' });
  await rosa.next('message', { id: 'next' });
  await deliver(rosa, 'alice', 'r3', { kind: 'reply', correlation_id: 'next' });
  expect((await alice.next('message', { id: 'r3' })).thread).toBe('first');
});

it('refuses a thread of a reply or an ephemeral message, and one that could forge a header', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await connect(broker, 'rosa');
  await subscribe(rosa);
  await deliver(alice, 'rosa', 'q', { kind: 'task' });
  await rosa.next('message', { id: 'q' });
  const refused = [
    [rosa, { to: 'alice', kind: 'reply', correlation_id: 'q', thread: 'th' }],
    [alice, { to: 'rosa', kind: 'note', ephemeral: true, thread: 'th' }],
    [alice, { to: 'rosa', kind: 'note', thread: 'a\nfrom: eve' }],
    [alice, { to: 'rosa', kind: 'note', thread: 'x'.repeat(65) }],
  ] as const;
  for (const [client, frame] of refused) {
    client.send({ type: 'deliver', id: 'x', ...frame });
    expect(await client.next('error', { id: 'x' })).toMatchObject({ code: 'bad_frame', field: 'thread' });
  }
  await deliver(alice, 'rosa', 'y', { kind: 'note', thread: 'x'.repeat(64) });
  await deliver(rosa, 'alice', 'r', { kind: 'reply', correlation_id: 'q' });
});

it('lets one member of a group at a time work on a thread', async () => {
  await using broker = await startTestBroker();
  await using alice = await connect(broker, 'alice');
  await using rosa = await joinGroup(broker, 'rosa', { window: 2 });
  await using omar = await joinGroup(broker, 'omar', { window: 2 });
  await deliver(alice, 'role:writer', 'a', { kind: 'task', thread: 'th' });
  await deliver(alice, 'role:writer', 'b', { kind: 'task', thread: 'th' });
  await deliver(alice, 'role:writer', 'c', { kind: 'task' });
  const { seq } = await rosa.next('message', { id: 'a', thread: 'th', group_key: 'th' });
  await omar.next('message', { id: 'c' });
  await deliver(rosa, 'alice', 'r', { kind: 'reply', correlation_id: 'a', settles: seq });
  const b = await Promise.race([rosa.next('message', { id: 'b' }), omar.next('message', { id: 'b' })]);
  expect(b.thread).toBe('th');
});
