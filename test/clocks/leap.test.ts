import { connectWire, startTestBroker, testClock } from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
  undeliverable,
} from '../support/broker/wire-actions.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

async function startBroker() {
  await using opened = new AsyncDisposableStack();
  const clock = testClock();
  const { now, monotonic } = clock;
  const events: string[] = [];
  const broker = opened.use(
    await startTestBroker({ now, monotonic, log: ({ event }) => void events.push(event) }),
  );
  const alice = opened.use(await connect(broker, 'alice'));
  const operator = opened.use(await connectOperator(broker));
  const bob = await broker.token('bob');
  const resources = opened.move();
  const deadLetters = async () =>
    (await admin<{ messages: { id: string; reason: string }[] }>(operator, 'dead_list')).messages.map(
      ({ id, reason }) => ({ id, reason }),
    );
  return {
    broker,
    clock,
    alice,
    operator,
    bob,
    events,
    deadLetters,
    logged: (event: string) => vi.waitFor(() => expect(events).toContain(event)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

describe('a wall clock that leaps forward by eight days', () => {
  it('loses nothing: messages flow, a request waits, and what has expired is answered after five minutes', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob: token, deadLetters, logged } = opened;
    await subscribe(alice);
    await deliver(alice, 'bob', 'note-1', { kind: 'note' });
    await deliver(alice, 'bob', 'ask-1', { ttl_ms: 60 * minute });
    await deliver(alice, 'bob', 'note-2', { kind: 'note' });
    clock.step(8 * day);
    await logged('expiry_held');
    {
      await using bob = await connectWire(broker.url, { agent: 'bob', token });
      await subscribe(bob);
      await deliver(alice, 'bob', 'ask-2', { ttl_ms: 60 * minute });
      await bob.next('message', { id: 'ask-2' });
      const messages = bob.received.filter(({ type }) => type === 'message');
      expect(messages.map(({ id, remaining_ms }) => [id, remaining_ms])).toEqual([
        ['note-1', 7 * day],
        ['note-2', 7 * day],
        ['ask-2', 60 * minute],
      ]);
      bob.send({ type: 'ack', seqs: [messages[0]!.seq, messages[2]!.seq], request_id: 'a' });
      await bob.next('ack_result');
    }
    clock.advance(5 * minute - 1);
    await barrier(alice);
    expect(await deadLetters()).toEqual([]);
    clock.advance(1);
    expect(await undeliverable(alice)).toMatchObject({
      correlation_id: 'ask-1',
      why: { reason: 'expired', may_have_run: false },
    });
    await vi.waitFor(async () => expect(await deadLetters()).toEqual([{ id: 'note-2', reason: 'expired' }]));
  });

  it('is undone: the request that waited is pushed', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob: token, logged } = opened;
    await deliver(alice, 'bob', 'ask-1', { ttl_ms: 60 * minute });
    clock.step(8 * day);
    await logged('expiry_held');
    await using bob = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(bob);
    await barrier(bob);
    expect(bob.received.filter(({ type }) => type === 'message')).toEqual([]);
    clock.step(-8 * day);
    expect(await bob.next('message')).toMatchObject({ id: 'ask-1', remaining_ms: 60 * minute });
  });

  it('makes no repeated message new, not even when it is trusted', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, bob: token, events, logged, deadLetters } = opened;
    await using bob = await connectWire(broker.url, { agent: 'bob', token });
    await subscribe(bob);
    await deliver(alice, 'bob', 'ask-1');
    const { seq } = await bob.next('message');
    bob.send({ type: 'ack', seqs: [seq], request_id: 'a' });
    await bob.next('ack_result');
    clock.step(8 * day);
    await logged('expiry_held');
    clock.advance(5 * minute);
    await logged('expiry_resumed');
    // A step of housekeeping ends: it has given this message up.
    await deliver(alice, 'bob', 'note-1', { kind: 'note', ttl_ms: 1 });
    await bob[Symbol.asyncDispose]();
    clock.advance(1);
    await vi.waitFor(async () => expect(await deadLetters()).toMatchObject([{ id: 'note-1' }]));
    alice.send({ type: 'deliver', to: 'bob', id: 'ask-1', kind: 'ask' }, '{}');
    expect(await alice.next('delivered', { duplicate: true })).toMatchObject({ id: 'ask-1' });
    expect(events.filter((event) => event === 'housekeeping_failed')).toEqual([]);
  });

  it('ends no connection and refuses no token before it is trusted', async () => {
    await using opened = await startBroker();
    const { broker, clock, logged } = opened;
    const token = await broker.token('carol', 'worker', day);
    await using carol = await connectWire(broker.url, { agent: 'carol', token });
    clock.step(8 * day);
    await logged('expiry_held');
    await barrier(carol);
    await using again = await connectWire(broker.url, { agent: 'carol', token });
    clock.advance(5 * minute);
    expect(await carol.closed).toMatchObject({ reason: 'unauthorized' });
    expect(await again.closed).toMatchObject({ reason: 'unauthorized' });
  });

  it('is not trusted sooner because the broker starts again', async () => {
    await using opened = await startBroker();
    const { broker, clock, alice, logged, events } = opened;
    await deliver(alice, 'bob', 'note-1', { kind: 'note' });
    clock.step(8 * day);
    await logged('expiry_held');
    clock.advance(4 * minute);
    await broker.restart();
    clock.advance(4 * minute);
    await using operator = await connectOperator(broker);
    expect(await admin(operator, 'dead_list')).toMatchObject({ messages: [] });
    clock.advance(minute);
    await logged('expiry_resumed');
    expect(events.filter((event) => event === 'expiry_held')).toHaveLength(2);
    await vi.waitFor(async () =>
      expect(await admin(operator, 'dead_list')).toMatchObject({ messages: [{ id: 'note-1' }] }),
    );
  });
});

describe('a message whose lifetime ends', () => {
  it('becomes a dead letter, unless it is a request, whose sender is told', async () => {
    await using opened = await startBroker();
    const { clock, alice, deadLetters } = opened;
    await subscribe(alice);
    await deliver(alice, 'bob', 'note-1', { kind: 'note', ttl_ms: 1000 });
    await deliver(alice, 'bob', 'ask-1', { ttl_ms: 1000 });
    clock.advance(1000);
    expect(await undeliverable(alice)).toMatchObject({ correlation_id: 'ask-1' });
    await vi.waitFor(async () => expect(await deadLetters()).toEqual([{ id: 'note-1', reason: 'expired' }]));
  });
});
