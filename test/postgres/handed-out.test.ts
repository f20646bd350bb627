import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { joinGroup } from '../support/broker/group-actions.ts';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
  undeliverable,
} from '../support/broker/wire-actions.ts';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokers } from '../support/postgres/two-brokers.ts';
import { openTwoShares } from '../support/postgres/two-shares.ts';
import { message } from '../support/store/test-store.ts';

const none = { messages: [], attempts: [], settlements: [] };

describe.skipIf(serverUrl === undefined)('What brokers know of what was handed out', () => {
  it('is that nothing has run which came while nobody held the inbox, and which none took', async () => {
    await using site = await startSite();
    const { ann, other } = site;
    await deliver(ann, 'bob', 'unleased', { kind: 'task', ttl_ms: 1000 });
    // One that was there, and left.
    await using gone = await connect(other, 'kim', 'writer');
    await subscribe(gone);
    await gone[Symbol.asyncDispose]();
    await expect.poll(() => site.holders()).toEqual([]);
    await deliver(ann, 'kim', 'later', { kind: 'task', ttl_ms: 1000 });
    await deliver(ann, 'role:writer', 'group', { kind: 'task', ttl_ms: 1000 });
    site.advance(1100);
    const told = [await undeliverable(ann), await undeliverable(ann), await undeliverable(ann)];
    expect(new Map(told.map(({ correlation_id, why }) => [correlation_id, why.may_have_run]))).toEqual(
      new Map([
        ['unleased', false],
        ['later', false],
        ['group', false],
      ]),
    );
  });

  it('is that a request may have run which a consumer was handed, and has not which one had no room for', async () => {
    await using site = await startSite();
    const { ann, other } = site;
    await using bob = await connect(other, 'bob', 'writer');
    await subscribe(bob, { window: 1 });
    await using rosa = await joinGroup(other, 'rosa', { window: 1 });
    await deliver(ann, 'bob', 'had', { kind: 'task', ttl_ms: 1000 });
    await bob.next('message', { id: 'had' });
    await deliver(ann, 'bob', 'waits', { kind: 'task', ttl_ms: 1000 });
    await deliver(ann, 'role:writer', 'group', { kind: 'task', ttl_ms: 1000 });
    await rosa.next('message', { id: 'group' });
    site.advance(1100);
    const told = [await undeliverable(ann), await undeliverable(ann), await undeliverable(ann)];
    expect(new Map(told.map(({ correlation_id, why }) => [correlation_id, why.may_have_run]))).toEqual(
      new Map([
        ['had', true],
        ['waits', false],
        ['group', true],
      ]),
    );
  });

  it('outlives the broker that handed it out', async () => {
    await using site = await startSite();
    const { ann, one, other } = site;
    await using bob = await connect(other, 'bob', 'writer');
    await subscribe(bob);
    await using rosa = await joinGroup(other, 'rosa');
    await deliver(ann, 'bob', 'had', { kind: 'task', ttl_ms: 2000 });
    await bob.next('message', { id: 'had' });
    await deliver(ann, 'role:writer', 'group', { kind: 'task', ttl_ms: 2000 });
    await rosa.next('message', { id: 'group' });
    await other.broker.stop();
    // A member that has no room yet sees that the claim of the one that is gone is free.
    await using nils = await joinGroup(one, 'nils', { window: 0 });
    await expect.poll(() => site.claims()).toEqual([{ incarnation: null, was_out: true }]);
    await deliver(ann, 'bob', 'new', { kind: 'task', ttl_ms: 2000 });
    await barrier(nils);
    site.advance(2100);
    const told = [await undeliverable(ann), await undeliverable(ann), await undeliverable(ann)];
    expect(new Map(told.map(({ correlation_id, why }) => [correlation_id, why.may_have_run]))).toEqual(
      new Map([
        ['had', true],
        ['group', true],
        // The row names the broker that is gone still, so that nobody can tell.
        ['new', true],
      ]),
    );
  });

  it('decides a cancel: what nobody has ends at once, what another broker has is told to its consumer', async () => {
    await using site = await startSite();
    const { ann, other } = site;
    await deliver(ann, 'bob', 'unleased', { kind: 'task' });
    await deliver(ann, 'role:writer', 'unclaimed', { kind: 'task' });
    ann.send({ type: 'cancel', to: 'bob', correlation_id: 'unleased' });
    ann.send({ type: 'cancel', to: 'role:writer', correlation_id: 'unclaimed' });
    await expect.poll(() => site.pending()).toEqual([]);
    await using bob = await connect(other, 'bob', 'writer');
    await subscribe(bob);
    await using rosa = await joinGroup(other, 'rosa');
    for (const [id, to, holder] of [
      ['held', 'bob', bob],
      ['claimed', 'role:writer', rosa],
    ] as const) {
      await deliver(ann, to, id, { kind: 'task' });
      const { seq } = await holder.next('message', { id });
      ann.send({ type: 'cancel', to, correlation_id: id });
      expect(await holder.next('cancel')).toMatchObject({ correlation_id: id, from: { agent: 'ann' } });
      holder.send({ type: 'ack', seqs: [seq] });
    }
    await expect.poll(() => site.pending()).toEqual([]);
    expect(bob.received.filter(({ type }) => type === 'cancel')).toHaveLength(1);
  });

  it('ends a cancelled request that changes hands before its consumer has settled it', async () => {
    await using site = await startSite();
    const { ann, one, other } = site;
    await using bob = await connect(other, 'bob', 'writer');
    await subscribe(bob);
    await deliver(ann, 'bob', 'q', { kind: 'task' });
    await bob.next('message', { id: 'q' });
    ann.send({ type: 'cancel', to: 'bob', correlation_id: 'q' });
    await bob.next('cancel');
    await using again = await connect(one, 'bob', 'writer');
    await subscribe(again);
    await expect.poll(() => site.pending()).toEqual([]);
    expect(again.received.filter(({ type }) => type === 'message')).toEqual([]);
  });

  it('ends a request whose cancel races with a broker that takes its inbox', async () => {
    await using site = await openTwoShares();
    const { one, other } = site;
    for (let round = 0; round < 20; round++) {
      const inbox = `bob${round}`;
      const id = `q${round}`;
      const [stored] = await one.inboxes.commit({
        ...none,
        messages: [{ ...message(id), inbox, kind: 'task', openUntil: Date.now() + 1e6 }],
      });
      if (stored?.result !== 'stored') throw new Error(stored?.result);
      const cancel = () =>
        one.inboxes.commit({
          ...none,
          settlements: [{ inbox, seq: stored.seq, outcome: 'cancelled', orMark: true }],
        });
      const taking = other.cluster.take(inbox);
      for (let n = 0; n < round % 5; n++) await one.inboxes.stats(inbox);
      await Promise.all([taking, cancel()]);
      const [left] = await other.cluster.read(inbox, 0, 1, 1e9);
      // The holder reads the mark, or is told if it has read before.
      expect(left?.cancelled ?? true).toBe(true);
      if (left) await expect.poll(() => other.heard.some((what) => what.includes(id))).toBe(true);
    }
  });

  it('is told to the sender of a request whose token was revoked', async () => {
    await using site = await startSite();
    const { ann, one } = site;
    await one.token('hub', 'orchestrator');
    const issued = await one.broker.issueToken({ agent: 'ann', role: 'worker' });
    await using second = await connectWire(one.url, { agent: 'ann', token: issued.token });
    await deliver(second, 'hub', 'q', { kind: 'mcp_request' });
    await using operator = await connectOperator(one);
    await admin(operator, 'token_revoke', { id: issued.id });
    expect((await undeliverable(ann)).why).toMatchObject({ reason: 'forbidden', may_have_run: false });
  });
});

/** Two brokers with clocks of the test, a group that has a member by its token, and a client that gets notices. */
async function startSite() {
  await using starting = new AsyncDisposableStack();
  let now = Date.now();
  const clock = () => now;
  const site = starting.use(await startTwoBrokers({ now: clock, monotonic: clock }));
  const { one, other, schema } = site;
  for (const agent of ['anybody', 'bob', 'kim']) await one.tokenOf(agent, 'writer');
  const ann = starting.use(await connect(one, 'ann'));
  await subscribe(ann);
  const resources = starting.move();
  return {
    one,
    other,
    ann,
    advance: (ms: number) => {
      now += ms;
    },
    pending: () => schema.sql(`SELECT id FROM @message WHERE inbox <> 'ann'`),
    claims: () => schema.sql('SELECT incarnation, was_out FROM @claim'),
    holders: () => schema.sql(`SELECT name FROM @inbox WHERE name = 'kim' AND incarnation IS NOT NULL`),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
