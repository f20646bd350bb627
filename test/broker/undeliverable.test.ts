import { connectWire } from '@signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { setUp } from '../support/broker/undeliverable.ts';
import {
  admin,
  barrier,
  connect,
  deliver,
  subscribe,
  undeliverable,
} from '../support/broker/wire-actions.ts';

const aWeek = 7 * 24 * 60 * 60 * 1000;

describe('the sender of a request', () => {
  it.each(['ask', 'task', 'mcp_request'])(
    'is told when its %s expires before anybody had it',
    async (kind) => {
      await using setup = await setUp();
      const { alice, operator } = setup;
      const sender = kind === 'mcp_request' ? operator : alice;
      if (kind === 'mcp_request') await subscribe(operator);
      await deliver(sender, 'bob', 'q', { kind, ttl_ms: 3000 });
      setup.advance(3000);
      const told = await undeliverable(sender);
      expect(told).toMatchObject({
        id: 're:q',
        correlation_id: 'q',
        from: { agent: 'broker', address: 'broker', role: 'broker' },
        why: { reason: 'expired', may_have_run: false },
      });
      expect(told.seq).toBeGreaterThan(0);
    },
  );

  it('is told that its request may have run when a consumer had it, whether it holds it still or gave it back', async () => {
    await using setup = await setUp();
    const { alice, bob } = setup;
    await deliver(alice, 'bob', 'held', { ttl_ms: 3000 });
    await subscribe(bob);
    await deliver(alice, 'bob', 'returned', { ttl_ms: 3000 });
    await bob.next('message', { id: 'held' });
    const { seq } = await bob.next('message', { id: 'returned' });
    bob.send({ type: 'nack', seqs: [seq], delay_ms: 60_000 });
    await barrier(bob);
    setup.advance(3000);
    const told = [await undeliverable(alice), await undeliverable(alice)];
    expect(new Set(told.map(({ correlation_id }) => correlation_id))).toEqual(new Set(['held', 'returned']));
    for (const { why } of told) expect(why).toEqual({ reason: 'expired', may_have_run: true });
  });

  it('is told nothing of a note, nor of a request that it cancelled, nor of one that was answered', async () => {
    await using setup = await setUp();
    const { alice, bob } = setup;
    await deliver(alice, 'bob', 'note', { kind: 'note', ttl_ms: 1000 });
    await deliver(alice, 'bob', 'cancelled', { ttl_ms: 1000 });
    alice.send({ type: 'cancel', to: 'bob', correlation_id: 'cancelled' });
    await barrier(alice);
    await deliver(alice, 'bob', 'answered', { ttl_ms: 1000 });
    await subscribe(bob);
    const { seq } = await bob.next('message', { id: 'answered' });
    await deliver(bob, 'alice#one', 're:answered', {
      kind: 'reply',
      correlation_id: 'answered',
      settles: seq,
    });
    await deliver(alice, 'bob', 'last', { ttl_ms: 1000 });
    setup.advance(1000);
    expect(await undeliverable(alice)).toMatchObject({ correlation_id: 'last' });
    const got = alice.received.filter(({ type }) => type === 'message').map(({ id }) => id);
    expect(got).toEqual(['re:answered', 're:last']);
  });

  it('is told why its request is dead, and once only: neither a retry nor a drop tells it again', async () => {
    await using setup = await setUp();
    const { alice, bob, operator } = setup;
    await subscribe(bob);
    await deliver(alice, 'bob', 'q');
    const { seq } = await bob.next('message');
    bob.send({ type: 'nack', seqs: [seq], dead: true, reason: 'bad_body' });
    expect(await undeliverable(alice)).toMatchObject({
      id: 're:q',
      why: { reason: 'dead', may_have_run: true, detail: 'bad_body' },
    });
    await admin(operator, 'dead_retry', { seqs: [seq] });
    const { seq: again } = await bob.next('message');
    bob.send({ type: 'nack', seqs: [again], dead: true, reason: 'bad_body' });
    await barrier(bob);
    await vi.waitFor(async () => {
      expect(await admin(operator, 'dead_drop', { seqs: [again] })).toEqual({
        dropped: [again],
        unknown: [],
      });
    });
    await deliver(alice, 'bob', 'last', { ttl_ms: 1000 });
    await bob.next('message', { id: 'last' });
    setup.advance(1000);
    expect(await undeliverable(alice)).toMatchObject({ correlation_id: 'last' });
  });

  it('finds it later when it is away, for as long as its request was meant to live', async () => {
    await using setup = await setUp();
    const { broker, bob } = setup;
    const token = await broker.token('kim');
    {
      await using kim = await connectWire(broker.url, { agent: 'kim', token });
      await deliver(kim, 'bob', 'q', { ttl_ms: aWeek });
    }
    setup.advance(aWeek);
    await vi.waitFor(async () => {
      bob.send({ type: 'peek', request_id: 'p' });
      expect((await bob.next('peeked')).messages).toEqual([]);
    });
    setup.advance(aWeek - 1000);
    await using kim = await connectWire(broker.url, { agent: 'kim', token });
    await subscribe(kim);
    expect(await undeliverable(kim)).toMatchObject({ correlation_id: 'q', remaining_ms: 1000 });
  });
});

describe('a token that is gone', () => {
  it.each(['revoked', 'expired'])(
    'takes back the tool calls it sent when it is %s, and only those',
    async (how) => {
      await using setup = await setUp();
      const { broker, operator } = setup;
      await broker.token('orchestrator', 'orchestrator');
      const issued = await admin(operator, 'token_issue', { agent: 'kim', role: 'worker', ttl_ms: 50_000 });
      const kept = await broker.token('kim');
      await using doomed = await connectWire(broker.url, { agent: 'kim', token: issued.token as string });
      await using other = await connectWire(broker.url, { agent: 'kim#two', token: kept });
      const fields = { kind: 'mcp_request' };
      await deliver(doomed, 'orchestrator', 'gone', fields);
      await deliver(doomed, 'bob', 'kept-ask');
      await deliver(other, 'orchestrator', 'kept', fields);
      if (how === 'revoked') await admin(operator, 'token_revoke', { id: issued.id });
      else setup.advance(50_000);
      expect((await doomed.closed).code).toBe(4401);
      await using again = await connectWire(broker.url, { agent: 'kim', token: kept });
      await subscribe(again);
      expect(await undeliverable(again)).toMatchObject({
        correlation_id: 'gone',
        why: { reason: 'forbidden', may_have_run: false },
      });
      const waiting = async (address: string) => {
        operator.send({ type: 'peek', request_id: 'p', address });
        return ((await operator.next('peeked')).messages as { id: string }[]).map(({ id }) => id);
      };
      expect(await waiting('orchestrator')).toEqual(['kept']);
      expect(await waiting('bob')).toEqual(['kept-ask']);
    },
  );

  it('tells the holder of a call that it does not work on yet, and lets one that runs run', async () => {
    await using setup = await setUp();
    const { broker, operator } = setup;
    await using orchestrator = await connect(broker, 'orchestrator', 'orchestrator');
    await subscribe(orchestrator);
    const issued = await admin(operator, 'token_issue', { agent: 'kim', role: 'worker' });
    await using kim = await connectWire(broker.url, { agent: 'kim', token: issued.token as string });
    for (const id of ['runs', 'waits']) await deliver(kim, 'orchestrator', id, { kind: 'mcp_request' });
    const { seq } = await orchestrator.next('message', { id: 'runs' });
    await orchestrator.next('message', { id: 'waits' });
    orchestrator.send({ type: 'working', seqs: [seq] });
    await barrier(orchestrator);
    await admin(operator, 'token_revoke', { id: issued.id });
    expect(await orchestrator.next('cancel')).toMatchObject({
      correlation_id: 'waits',
      from: { agent: 'kim' },
    });
    await barrier(orchestrator);
    expect(orchestrator.received.filter(({ type }) => type === 'cancel')).toHaveLength(1);
    const { messages } = await admin(operator, 'history', { since: 0, agent: 'orchestrator' });
    expect(messages).toMatchObject([{ id: 'runs' }, { id: 'waits', outcome: 'cancelled' }]);
  });
});
