import { connectWire, startTestBroker, storedRows, testClock, type WireClient } from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { ackMessage, joinGroup } from '../support/broker/group-actions.ts';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** A broker with a clock that stands still, and an agent that holds its inbox. */
async function startBroker() {
  await using opened = new AsyncDisposableStack();
  const clock = testClock();
  const { now, monotonic } = clock;
  const broker = opened.use(await startTestBroker({ now, monotonic }));
  const alice = opened.use(await connect(broker, 'alice'));
  const bob = opened.use(await connect(broker, 'bob'));
  await subscribe(bob);
  const resources = opened.move();
  return { broker, clock, alice, bob, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

const later = (ms: number, fields: Record<string, unknown> = {}) => ({
  kind: 'note',
  not_before_ms: ms,
  ...fields,
});

async function listed(client: WireClient, fields: Record<string, unknown> = {}): Promise<unknown[]> {
  client.send({ type: 'list_scheduled', request_id: 'l', ...fields });
  const answer = await client.next(['scheduled', 'error'], { request_id: 'l' });
  if (answer.type === 'error') return [answer.code, answer.field];
  return (answer.messages as { id: string }[]).map(({ id }) => id);
}

async function cancel(client: WireClient, fields: Record<string, unknown>): Promise<unknown> {
  client.send({ type: 'cancel', request_id: 'c', ...fields });
  const answer = await client.next(['cancel_result', 'error'], { request_id: 'c' });
  return answer.type === 'error' ? [answer.code, answer.field] : answer.scheduled;
}

const idsOf = (client: WireClient) =>
  client.received.filter(({ type }) => type === 'message').map(({ id }) => id);

describe('a message with not_before_ms', () => {
  it('is confirmed at once, handed out when it is due, and holds up no other message', async () => {
    await using opened = await startBroker();
    const { clock, alice, bob } = opened;
    await deliver(alice, 'bob', 'late', later(2 * minute, { ttl_ms: minute, group_key: undefined }));
    await deliver(alice, 'bob', 'soon', later(minute));
    await deliver(alice, 'bob', 'plain', { kind: 'note' });
    await bob.next('message', { id: 'plain' });
    clock.advance(minute - 1);
    await deliver(alice, 'bob', 'another', { kind: 'note' });
    await bob.next('message', { id: 'another' });
    expect(idsOf(bob)).toEqual(['plain', 'another']);
    clock.advance(1);
    const soon = await bob.next('message', { id: 'soon' });
    clock.advance(minute);
    const late = await bob.next('message', { id: 'late' });
    expect(late).toMatchObject({
      remaining_ms: minute,
      created_at: clock.now(),
      from: { agent: 'alice' },
      body: '{}',
    });
    expect(late.seq as number).toBeGreaterThan(soon.seq as number);
  });

  it('expires when its lifetime is over, which began when it was due', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice } = opened;
    await using operator = await connectOperator(broker);
    await broker.token('carl');
    await subscribe(alice);
    await deliver(alice, 'carl', 'job', later(2 * minute, { kind: 'task', ttl_ms: minute }));
    clock.advance(2 * minute);
    await vi.waitFor(async () =>
      expect(await admin(operator, 'stats')).toMatchObject({ pending: 1, scheduled: 0 }),
    );
    clock.advance(minute);
    expect(await alice.next('message', { kind: 'undeliverable' })).toMatchObject({ correlation_id: 'job' });
  });

  it('is a request like any other when it is due: its reply comes back', async () => {
    await using opened = await startBroker();
    const { clock, alice, bob } = opened;
    await subscribe(alice);
    await deliver(alice, 'bob', 'job', later(minute, { kind: 'task' }));
    clock.advance(minute);
    const { seq } = await bob.next('message', { id: 'job' });
    await deliver(bob, 'alice', 'reply', { kind: 'reply', correlation_id: 'job', settles: seq });
    expect(await alice.next('message', { id: 'reply' })).toMatchObject({ correlation_id: 'job' });
  });

  it.each([
    ['ask', { kind: 'ask' }],
    ['mcp_request', { kind: 'mcp_request' }],
    ['a reply', { kind: 'reply', correlation_id: 'x' }],
    ['an ephemeral message', { ephemeral: true }],
    ['over 60 days with its lifetime', { not_before_ms: 54 * day }],
  ])('is refused and leaves nothing stored: %s', async (_, fields) => {
    await using opened = await startBroker();
    const { broker, alice } = opened;
    const before = await storedRows(broker.dataDir);
    alice.send({ type: 'deliver', to: 'bob', id: 'm', ...later(minute), ...fields }, '{}');
    expect(await alice.next('error', { id: 'm' })).toMatchObject({
      code: 'bad_frame',
      field: 'not_before_ms',
      retryable: false,
    });
    expect(await storedRows(broker.dataDir)).toEqual(before);
    await deliver(alice, 'bob', 'm', later(53 * day));
  });

  it('is refused with settles, which takes effect at once or not at all', async () => {
    await using opened = await startBroker();
    const { alice, bob } = opened;
    await deliver(alice, 'bob', 'job', { kind: 'task' });
    const { seq } = await bob.next('message', { id: 'job' });
    bob.send({ type: 'deliver', to: 'alice', id: 'm', settles: seq, ...later(minute) }, '{}');
    expect(await bob.next('error', { id: 'm' })).toMatchObject({ code: 'bad_frame', field: 'not_before_ms' });
  });

  it('counts against the quota of its sender, and is a duplicate when it is sent again', async () => {
    const limits = { senderToRecipient: { messages: 2 } };
    await using broker = await startTestBroker({ limits });
    await using alice = await connect(broker, 'alice');
    await broker.token('bob');
    for (const id of ['a', 'b']) await deliver(alice, 'bob', id, later(minute));
    alice.send({ type: 'deliver', to: 'bob', id: 'c', kind: 'note' }, '{}');
    expect(await alice.next('error', { id: 'c' })).toMatchObject({ code: 'quota_exceeded' });
    alice.send({ type: 'deliver', to: 'bob', id: 'a', ...later(5) }, '{}');
    expect(await alice.next('delivered', { id: 'a', duplicate: true })).toBeDefined();
  });

  it('stays when its sender’s token is revoked', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob } = opened;
    await using operator = await connectOperator(broker);
    await deliver(alice, 'bob', 'will', later(minute, { kind: 'task' }));
    await admin(operator, 'token_revoke_agent', { agent: 'alice' });
    await alice.closed;
    clock.advance(minute);
    expect(await bob.next('message')).toMatchObject({ id: 'will', from: { agent: 'alice' } });
  });

  it('goes to one member of a group, and with all to each of them', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice } = opened;
    await using rosa = await joinGroup(broker, 'rosa');
    await using own = await connect(broker, 'rosa', 'writer');
    await subscribe(own);
    await deliver(alice, 'role:writer', 'one', later(minute));
    await deliver(alice, 'role:writer', 'all', later(minute, { all: true }));
    await deliver(alice, 'role:writer', 'none', later(minute, { all: true }));
    expect(await cancel(alice, { to: 'role:writer', correlation_id: 'none' })).toBe(1);
    clock.advance(minute);
    await ackMessage(rosa, await rosa.next('message', { id: 'one' }));
    expect(await own.next('message')).toMatchObject({ id: 'all', group: 'role:writer' });
    expect(await listed(alice)).toEqual([]);
  });
});

describe('scheduled messages', () => {
  it('survive a restart, and those that became due meanwhile are handed out then', async () => {
    const clock = testClock();
    const { now, monotonic } = clock;
    await using broker = await startTestBroker({ now, monotonic });
    const token = await broker.token('bob');
    {
      await using alice = await connect(broker, 'alice');
      await deliver(alice, 'bob', 'a', later(30_000));
      await deliver(alice, 'bob', 'b', later(90_000));
    }
    await broker.restart({ now: () => now() + 45_000 });
    await using bob = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(bob);
    await bob.next('message', { id: 'a' });
    clock.advance(45_000);
    await bob.next('message', { id: 'b' });
    expect(idsOf(bob)).toEqual(['a', 'b']);
  });

  it('are cancelled by their sender, or by an operator, and by nobody else', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob } = opened;
    await using operator = await connectOperator(broker);
    for (const id of ['a', 'b', 'c']) await deliver(alice, 'bob', id, later(minute));
    expect(await cancel(bob, { to: 'bob', correlation_id: 'a' })).toBe(0);
    expect(await cancel(bob, { to: 'bob', correlation_id: 'a', sender: 'alice' })).toEqual([
      'not_yours',
      'sender',
    ]);
    expect(await cancel(alice, { to: 'bob', correlation_id: 'a' })).toBe(1);
    expect(await cancel(alice, { to: 'bob', correlation_id: 'a' })).toBe(0);
    expect(await cancel(operator, { to: 'bob', correlation_id: 'b', sender: 'alice' })).toBe(1);
    clock.advance(minute);
    await bob.next('message', { id: 'c' });
    expect(idsOf(bob)).toEqual(['c']);
    const { messages } = await admin<{ messages: unknown[] }>(operator, 'history', { since: 0 });
    const about = { from_agent: 'alice', inbox: 'bob' };
    expect(messages).toMatchObject([
      { id: 'a', outcome: 'cancelled', ...about },
      { id: 'b', outcome: 'cancelled', ...about },
      { id: 'c', ...about },
    ]);
  });

  it('are listed for their sender and for operators, and for nobody else', async () => {
    await using opened = await startBroker();
    const { broker, alice, bob } = opened;
    await using operator = await connectOperator(broker);
    await deliver(alice, 'bob', 'second', later(2 * minute));
    await deliver(alice, 'bob', 'first', later(minute));
    await deliver(bob, 'alice', 'other', later(3 * minute));
    expect(await listed(alice)).toEqual(['first', 'second']);
    expect(await listed(alice, { sender: 'bob' })).toEqual(['not_yours', 'sender']);
    expect(await listed(bob)).toEqual(['other']);
    expect(await listed(operator)).toEqual(['first', 'second', 'other']);
    expect(await listed(operator, { sender: 'alice', limit: 1 })).toEqual(['first']);
    expect(await listed(operator, { to: 'alice' })).toEqual(['other']);
    bob.send({ type: 'peek', request_id: 'p' });
    expect(await bob.next('peeked')).toMatchObject({ messages: [] });
    expect(await admin(operator, 'stats')).toMatchObject({ pending: 0, scheduled: 3 });
  });

  it('are told by tail when they are stored and when they are due', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob } = opened;
    await using operator = await connectOperator(broker);
    await subscribe(operator);
    await admin(operator, 'tail', { on: true });
    await deliver(alice, 'bob', 'm', later(minute));
    const told = async () => JSON.parse((await operator.next('message', { kind: 'event' })).body!);
    expect(await told()).toMatchObject({
      what: 'scheduled',
      due_at: clock.now() + minute,
      message: { id: 'm' },
    });
    clock.advance(minute);
    await bob.next('message', { id: 'm' });
    expect(await told()).toMatchObject({ what: 'stored', message: { id: 'm' } });
  });
});
