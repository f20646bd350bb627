import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

interface Setup extends AsyncDisposable {
  broker: TestBroker;
  alice: WireClient;
  /** A new connection of bob, subscribed, and the message that it is handed, which it works on. */
  work(
    subscription?: Record<string, unknown>,
  ): Promise<{ bob: WireClient; seq: unknown; attempt: unknown; sinceTriedMs: unknown }>;
  /** Moves the broker's clock. */
  advance(ms: number): void;
  /** Resolves when this agent has no connection. */
  gone(agent: string): Promise<void>;
}

async function setUp(): Promise<Setup> {
  let now = 1_000_000;
  await using opened = new AsyncDisposableStack();
  const broker = opened.use(await startTestBroker({ now: () => now }));
  const alice = opened.use(await connect(broker, 'alice'));
  const token = await broker.token('bob');
  const resources = opened.move();
  return {
    broker,
    alice,
    async work(subscription = {}) {
      const bob = await connectWire(broker.url, { agent: 'bob', token });
      await subscribe(bob, subscription);
      const { seq, attempt, since_tried_ms: sinceTriedMs } = await bob.next('message');
      bob.send({ type: 'working', seqs: [seq] });
      await barrier(bob);
      return { bob, seq, attempt, sinceTriedMs };
    },
    advance: (ms) => {
      now += ms;
    },
    gone: (agent) =>
      vi.waitFor(async () => {
        alice.send({ type: 'list_connected', request_id: 'l' });
        const { agents } = await alice.next('connected');
        expect((agents as { agent: string }[]).map((one) => one.agent)).not.toContain(agent);
      }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

describe('an attempt', () => {
  it('is not a message that is given back because something else failed, however often', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    const { bob, seq, attempt } = await setup.work();
    expect(attempt).toBeUndefined();
    for (let i = 0; i < 6; i++) {
      bob.send({ type: 'nack', seqs: [seq], counts: false, reason: 'its program is failing' });
      expect((await bob.next('message')).attempt).toBeUndefined();
    }
    bob.send({ type: 'nack', seqs: [seq], counts: false, dead: true, reason: 'given up' });
    await barrier(bob);
    const operator = await connectOperator(setup.broker);
    await expect
      .poll(() => admin(operator, 'dead_list'))
      .toMatchObject({ messages: [{ reason: 'given up' }] });
  });

  it('is not counted for a message that its consumer never worked on, however often it was lost', async () => {
    await using setup = await setUp();
    const token = await setup.broker.token('bob');
    await deliver(setup.alice, 'bob', 'a');
    for (let i = 0; i < 7; i++) {
      await using bob = await connectWire(setup.broker.url, { agent: 'bob', token });
      await subscribe(bob);
      expect((await bob.next('message')).attempt).toBeUndefined();
      await bob[Symbol.asyncDispose]();
      await setup.gone('bob');
      setup.advance(20_000);
    }
  });

  it('is not counted when its consumer is back within ten seconds, which is told that the message was worked on', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    for (let i = 0; i < 7; i++) {
      const { bob, attempt, sinceTriedMs } = await setup.work();
      expect(attempt).toBeUndefined();
      expect(sinceTriedMs).toBe(i === 0 ? undefined : 9_999);
      await bob[Symbol.asyncDispose]();
      await setup.gone('bob');
      setup.advance(9_999);
    }
  });

  it('is counted when its consumer worked on it and stays away for ten seconds, and after five it is dead', async () => {
    await using setup = await setUp();
    await using operator = await connectOperator(setup.broker);
    await deliver(setup.alice, 'bob', 'poison', { kind: 'note' });
    const attempts: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      const { bob, attempt } = await setup.work();
      attempts.push(attempt);
      await bob[Symbol.asyncDispose]();
      await setup.gone('bob');
      setup.advance(10_000);
    }
    expect(attempts).toEqual([undefined, 2, 3, 4, 5]);
    await vi.waitFor(async () => {
      const { messages } = await admin(operator, 'dead_list');
      expect(messages).toMatchObject([{ id: 'poison', attempts: 5, inbox: 'bob' }]);
      expect((messages as { reason: string }[])[0]!.reason).toBe(
        'tried 5 times: its consumer was lost while working on it',
      );
    });
    await deliver(setup.alice, 'bob', 'next');
    const { attempt } = await setup.work();
    expect(attempt).toBeUndefined();
  });

  it('is counted for a message whose consumer comes back and is lost again without end', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'crasher');
    const attempts: unknown[] = [];
    for (let i = 0; i < 13; i++) {
      const { bob, attempt } = await setup.work();
      attempts.push(attempt);
      await bob[Symbol.asyncDispose]();
      await setup.gone('bob');
    }
    expect(attempts.slice(0, 11)).toEqual(Array.from({ length: 11 }, () => undefined));
    expect(attempts.slice(11)).toEqual([2, 3]);
  });

  it('is counted at once when another connection takes over what a consumer was working on', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    const { bob: first } = await setup.work();
    const { bob: second, attempt } = await setup.work();
    expect(attempt).toBe(2);
    for (const client of [first, second]) await client[Symbol.asyncDispose]();
  });

  it('is counted at once when another process subscribes, with the time since the first had the message, and not when the same one does', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    const tries: unknown[][] = [];
    for (const consumer_id of ['one', 'one', 'two', 'two', 'three', undefined, undefined]) {
      const { bob, attempt, sinceTriedMs } = await setup.work({ ...(consumer_id && { consumer_id }) });
      tries.push([consumer_id, attempt, sinceTriedMs]);
      await bob[Symbol.asyncDispose]();
      await setup.gone('bob');
      setup.advance(2_000);
    }
    expect(tries).toEqual([
      ['one', undefined, undefined],
      ['one', undefined, 2_000],
      ['two', 2, 2_000],
      ['two', 2, 2_000],
      ['three', 3, 2_000],
      [undefined, 4, 2_000],
      [undefined, 4, 2_000],
    ]);
  });

  it('is not counted when a new connection of the same process takes over from a lost one, and is when that of another does', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    const attempts: unknown[] = [];
    await using open = new AsyncDisposableStack();
    for (const consumer_id of ['one', 'one', 'two', 'two']) {
      const { bob, attempt } = await setup.work({ consumer_id });
      attempts.push(attempt);
      open.use(bob);
    }
    expect(attempts).toEqual([undefined, undefined, 2, 2]);
  });

  it('is not counted for an own new subscription, nor by a restart of the broker', async () => {
    await using setup = await setUp();
    await deliver(setup.alice, 'bob', 'a');
    const { bob } = await setup.work();
    await subscribe(bob);
    expect((await bob.next('message')).attempt).toBeUndefined();
    await setup.broker.restart();
    setup.advance(20_000);
    const { bob: after, attempt } = await setup.work();
    expect(attempt).toBeUndefined();
    await after[Symbol.asyncDispose]();
  });
});

describe('an ack deadline', () => {
  it('takes back what is neither settled nor renewed, counts it, and hands out it again', async () => {
    await using setup = await setUp();
    await using bob = await connect(setup.broker, 'bob');
    await subscribe(bob, { ack_deadline_ms: 5000 });
    for (const id of ['hung', 'renewed', 'acked']) await deliver(setup.alice, 'bob', id);
    const seqs: number[] = [];
    for (let i = 0; i < 3; i++) seqs.push((await bob.next('message')).seq as number);
    setup.advance(4000);
    bob.send({ type: 'working', seqs: [seqs[1]] });
    bob.send({ type: 'ack', seqs: [seqs[2]] });
    await barrier(bob);
    setup.advance(1000);
    expect(await bob.next('message')).toMatchObject({ id: 'hung', seq: seqs[0], attempt: 2 });
    setup.advance(3999);
    await barrier(bob);
    setup.advance(1);
    expect(await bob.next('message')).toMatchObject({ id: 'renewed', attempt: 2 });
    const again = bob.received.filter(({ type }) => type === 'message').map(({ id }) => id);
    expect(again).toEqual(['hung', 'renewed', 'acked', 'hung', 'renewed']);
  });

  it('ends a message that hangs every time, with the reasons in their order', async () => {
    await using setup = await setUp();
    await using operator = await connectOperator(setup.broker);
    await using bob = await connect(setup.broker, 'bob');
    await subscribe(bob, { ack_deadline_ms: 1000 });
    await deliver(setup.alice, 'bob', 'hangs', { kind: 'note' });
    const { seq } = await bob.next('message', { id: 'hangs' });
    bob.send({ type: 'nack', seqs: [seq], reason: 'not today' });
    for (let i = 1; i < 5; i++) {
      await bob.next('message', { id: 'hangs' });
      setup.advance(1000);
    }
    await vi.waitFor(async () => {
      const { messages } = await admin<{ messages: unknown[] }>(operator, 'dead_list');
      expect(messages).toHaveLength(1);
    });
    const { messages } = await admin(operator, 'dead_list');
    expect(messages).toMatchObject([
      { id: 'hangs', reason: 'tried 5 times: not today; neither settled nor renewed within 1000 ms' },
    ]);
  });

  it("is nobody's who did not ask for one", async () => {
    await using setup = await setUp();
    await using bob = await connect(setup.broker, 'bob');
    await subscribe(bob);
    await deliver(setup.alice, 'bob', 'slow', { kind: 'note' });
    const { seq } = await bob.next('message');
    setup.advance(3_600_000);
    // Another inbox's deadline passes meanwhile, so that the broker has looked.
    await using kim = await connect(setup.broker, 'kim');
    await subscribe(kim, { ack_deadline_ms: 100 });
    await deliver(setup.alice, 'kim', 'other');
    await kim.next('message');
    setup.advance(200);
    await kim.next('message', { attempt: 2 });
    bob.send({ type: 'ack', seqs: [seq], request_id: 'late' });
    expect(await bob.next('ack_result')).toMatchObject({ accepted: [seq] });
  });
});
