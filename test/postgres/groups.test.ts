import { groupAddress } from '@signalbox/client';
import type { WireClient, WireFrame } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { ackMessage, joinGroup } from '../support/broker/group-actions.ts';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses, startTwoBrokers } from '../support/postgres/two-brokers.ts';

const group = 'role:writer';

describe.skipIf(serverUrl === undefined)('A group with members at two brokers', () => {
  it('has each message handed to one member, and a slow one keeps nobody waiting', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await using slow = await joinGroup(site.one, 'slow', { window: 2 });
    const ids = Array.from({ length: 30 }, (_, n) => `m${n}`);
    await send(alice, ids);
    await slow.next('message', { id: 'm1' });
    await using quick = await joinGroup(site.other, 'quick');
    for (const id of ids.slice(2)) await ackMessage(quick, await quick.next('message', { id }));
    // A message that comes to one broker goes to a member of the other one.
    await send(alice, ['late']);
    await ackMessage(quick, await quick.next('message', { id: 'late' }));
    expect(idsOf(slow)).toEqual(['m0', 'm1']);
  });

  it('hands out one message of a key at a time, in their order, also while one waits to be tried again', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.other, 'alice');
    await using rosa = await joinGroup(site.one, 'rosa');
    await using omar = await joinGroup(site.other, 'omar');
    const members = [rosa, omar];
    await send(alice, ['a1', 'b1'], { group_key: 'k' });
    const first = await either(members, 'a1');
    await send(alice, ['free']);
    await either(members, 'free');
    first.member.send({ type: 'nack', seqs: [first.seq], delay_ms: 200 });
    const again = await either(members, 'a1', { attempt: 2 });
    expect(members.flatMap(idsOf)).not.toContain('b1');
    await ackMessage(again.member, again);
    await either(members, 'b1');
  });

  it('gives the messages of a lost or silent member to one at the other broker, which reads how often they were tried', async () => {
    let now = Date.now();
    await using site = await startTwoBrokers({ now: () => now, monotonic: () => now });
    await using alice = await connect(site.one, 'alice');
    const rosa = await joinGroup(site.one, 'rosa', { window: 2 });
    await send(alice, ['a', 'b']);
    const { seq } = await rosa.next('message', { id: 'b' });
    rosa.send({ type: 'working', seqs: [seq] });
    await barrier(rosa);
    await using omar = await joinGroup(site.other, 'omar', { window: 2, ack_deadline_ms: 5000 });
    await rosa[Symbol.asyncDispose]();
    expect((await omar.next('message', { id: 'a' })).attempt).toBeUndefined();
    const b = await omar.next('message', { id: 'b' });
    expect(b.attempt).toBe(2);
    await using nils = await joinGroup(site.one, 'nils', { window: 2 });
    // Less than the time after which a broker thinks that it is cut off from its database.
    now += 5000;
    expect(await nils.next('message', { id: 'b' })).toMatchObject({ attempt: 3 });
    expect(await ackMessage(omar, b)).toMatchObject({ rejected: [b.seq] });
  });

  it('hands messages out a second after the database failed to give them, although nothing else has happened', async () => {
    const failed: string[] = [];
    await using site = await startTwoBrokers({
      log: ({ event, error }) => {
        if (event === 'delivery_failed') failed.push(String(error));
      },
    });
    await using alice = await connect(site.one, 'alice');
    await using rosa = await joinGroup(site.one, 'rosa', { window: 1 });
    await send(alice, ['a', 'b']);
    const { seq } = await rosa.next('message', { id: 'a' });
    await site.schema.sql('ALTER TABLE @claim RENAME TO away');
    rosa.send({ type: 'nack', seqs: [seq] });
    await expect.poll(() => failed).toContainEqual(expect.stringContaining('claim'));
    await site.schema.sql('ALTER TABLE @away RENAME TO claim');
    await ackMessage(rosa, await rosa.next('message', { id: 'a' }));
    await rosa.next('message', { id: 'b' });
  });

  it('hands out again what a member gives back that it was handed ahead of others, as the next message of its key', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await using rosa = await joinGroup(site.one, 'rosa', { window: 2 });
    await send(alice, ['key-1'], { group_key: 'k' });
    await send(alice, ['a', 'b', 'c']);
    await send(alice, ['key-2'], { group_key: 'k' });
    const ack = (seq: unknown) => rosa.send({ type: 'ack', seqs: [seq], request_id: `ack-${seq}` });
    const first = await rosa.next('message', { id: 'key-1' });
    const second = await rosa.next('message', { id: 'a' });
    // The commit that frees 'key-2' waits, and claims of messages before 'key-2' wait with it.
    await site.schema.sql('BEGIN; LOCK TABLE @claim');
    ack(first.seq);
    ack(second.seq);
    const waiting = async () => (await site.schema.sql('SELECT FROM pg_locks WHERE NOT granted')).length;
    await expect.poll(waiting).toBeGreaterThan(0);
    await site.schema.sql('COMMIT');
    // Which two of the three come first depends on which of the acks frees its place first.
    const given = [await rosa.next('message'), await rosa.next('message')];
    if (given.every(({ id }) => id !== 'key-2')) {
      ack(given[0]!.seq);
      given.push(await rosa.next('message'));
    }
    const ahead = given.find(({ id }) => id === 'key-2')!;
    rosa.send({ type: 'nack', seqs: [ahead.seq] });
    expect(await rosa.next('message', { id: 'key-2' })).toMatchObject({ attempt: 2 });
  });

  it('makes a dead letter of a message that every member failed with', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await subscribe(alice);
    await using rosa = await joinGroup(site.one, 'rosa');
    await using omar = await joinGroup(site.other, 'omar');
    await deliver(alice, group, 'poison', { kind: 'task' });
    for (let attempt = 1; attempt <= 5; attempt++) {
      const had = await either([rosa, omar], 'poison', attempt > 1 ? { attempt } : {});
      had.member.send({ type: 'nack', seqs: [had.seq], reason: `no ${attempt}` });
    }
    expect(JSON.parse((await alice.next('message', { kind: 'undeliverable' })).body!)).toMatchObject({
      reason: 'dead',
    });
    await using operator = await connectOperator(site.other);
    const { messages } = await admin<{ messages: unknown[] }>(operator, 'dead_list');
    expect(messages).toMatchObject([{ id: 'poison', attempts: 5 }]);
  });

  it('takes the reply of the member that has a request, and of nobody else', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await subscribe(alice);
    await using nils = await connect(site.one, 'nils', 'writer');
    await using omar = await joinGroup(site.other, 'omar');
    await deliver(alice, group, 'q', { kind: 'ask' });
    const { seq } = await omar.next('message', { id: 'q' });
    const reply = { type: 'deliver', to: 'alice', kind: 'reply', correlation_id: 'q' };
    nils.send({ ...reply, id: 'forged' }, '1');
    expect(await nils.next('error', { id: 'forged' })).toMatchObject({ code: 'forbidden' });
    omar.send({ ...reply, id: 'true', settles: seq }, '2');
    await omar.next('delivered', { id: 'true' });
    expect(await alice.next('message', { kind: 'reply' })).toMatchObject({
      from: { agent: 'omar' },
      body: '2',
    });
    omar.send({ type: 'peek', request_id: 'p', address: group });
    expect((await omar.next('peeked')).messages).toEqual([]);
  });

  it('goes on at the other broker when one of them stops', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.other, 'alice');
    await using rosa = await joinGroup(site.one, 'rosa');
    await using omar = await joinGroup(site.other, 'omar');
    await send(alice, ['a', 'b']);
    const had = await rosa.next('message');
    const own = await omar.next('message');
    await site.one.broker.stop();
    await ackMessage(omar, own);
    expect(await omar.next('message', { id: had.id })).toMatchObject({ seq: had.seq });
  });

  it('goes on with what the members of a killed broker had when its incarnation is over', async () => {
    await using site = await startTwoBrokerProcesses();
    await using ann = await site.connect('ann', [site.one]);
    const join = async (agent: string, at: typeof site.one) => {
      const token = await site.issue(agent, 'writer');
      const client = await site.connect(groupAddress(agent), [at], { token });
      return { client, inbox: await client.subscribe({ group, window: 1 }) };
    };
    const rosa = await join('rosa', site.other);
    const omar = await join('omar', site.one);
    await using _rosa = rosa.client;
    await using _omar = omar.client;
    for (const id of ['a', 'b']) await ann.deliver({ to: group, kind: 'note', id });
    const had = (await rosa.inbox.messages.next()).value!;
    const own = (await omar.inbox.messages.next()).value!;
    await site.other.end('SIGKILL');
    await omar.client.ack([own.seq!]);
    expect((await omar.inbox.messages.next()).value).toMatchObject({ id: had.id, seq: had.seq });
    expect(await omar.client.ack([had.seq!])).toMatchObject({ accepted: [had.seq] });
  });

  it('loses no member that joins while housekeeping removes the idle rows of inboxes', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await site.one.tokenOf('rosa', 'writer');
    let isOver = false;
    const tidy = async () => {
      while (!isOver)
        await site.schema.sql(
          'DELETE FROM @inbox i WHERE pending = 0 AND scheduled = 0 AND NOT EXISTS (SELECT FROM @incarnation s WHERE s.epoch = i.incarnation OR s.epoch = ANY(i.members))',
        );
    };
    const tidying = tidy();
    await using _end = {
      [Symbol.asyncDispose]: async () => {
        isOver = true;
        await tidying;
      },
    };
    for (let n = 0; n < 30; n++) {
      await using rosa = await joinGroup(n % 2 ? site.one : site.other, 'rosa');
      await send(alice, [`m${n}`]);
      const next = await rosa.next(['message', 'lease_lost']);
      expect(next).toMatchObject({ id: `m${n}` });
      await ackMessage(rosa, next);
    }
  });

  it('keeps its members when the database loses the row that names their broker, and hands out nothing twice', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    await using rosa = await joinGroup(site.one, 'rosa', { window: 2 });
    await send(alice, ['a']);
    const had = await rosa.next('message', { id: 'a' });
    await site.schema.sql(`UPDATE @inbox SET members = NULL WHERE name = '${group}'`);
    await send(alice, ['b']);
    const next = await rosa.next(['message', 'lease_lost']);
    expect(next).toMatchObject({ id: 'b' });
    await ackMessage(rosa, next);
    await ackMessage(rosa, had);
    expect(idsOf(rosa)).toEqual(['a', 'b']);
    // If another broker has taken it, it is lost.
    await site.schema.sql(
      `UPDATE @inbox SET members = NULL, incarnation = (SELECT epoch FROM @incarnation WHERE broker = 'other')`,
    );
    await send(alice, ['c']);
    await rosa.next('lease_lost', { reason: 'taken_over' });
  });

  it('keeps all of this while members come and go, fail and hang', async () => {
    await using site = await startTwoBrokers();
    await using alice = await connect(site.one, 'alice');
    // The group is there as soon as somebody may be its member.
    await site.one.tokenOf('anybody', 'writer');
    const count = 150;
    const keyOf = (n: number) => (n % 3 === 0 ? undefined : `k${n % 7}`);
    const had = new Map<string, WireClient>();
    const order = new Map<string, number[]>();
    const ended = new Set<string>();
    const done = Promise.withResolvers<void>();
    let steps = 0;
    const work = async (at: number): Promise<void> => {
      for (let round = 0; ended.size < count; round++) {
        const member = await joinGroup(at % 2 ? site.one : site.other, `m${at}-${round}`, {
          window: 1 + (at % 2),
        });
        await using _member = member;
        for (let n = 0; n < 12 && ended.size < count; n++) {
          const next = await Promise.race([member.next('message'), done.promise]);
          if (!next) return;
          const id = String(next.id);
          expect([id, had.get(id)]).toEqual([id, undefined]);
          expect(ended).not.toContain(id);
          const number = Number(id.slice(1));
          const key = keyOf(number);
          if (key !== undefined) {
            const running = [...had.keys()].filter((one) => keyOf(Number(one.slice(1))) === key);
            expect(running).toEqual([]);
          }
          had.set(id, member);
          await barrier(member, `b${n}`);
          had.delete(id);
          if (++steps % 11 === 0) member.send({ type: 'nack', seqs: [next.seq], reason: 'again' });
          else {
            ended.add(id);
            if (key !== undefined) order.set(key, [...(order.get(key) ?? []), number]);
            await ackMessage(member, next);
            if (ended.size === count) done.resolve();
          }
        }
      }
    };
    const working = [0, 1, 2, 3].map(work);
    for (let n = 0; n < count; n++)
      await send(alice, [`m${n}`], { ...(keyOf(n) && { group_key: keyOf(n) }) });
    await Promise.all(working);
    for (const numbers of order.values()) expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(await site.schema.sql('SELECT * FROM @claim')).toEqual([]);
  });
});

/** Sends notes one after the other. */
async function send(alice: WireClient, ids: readonly string[], fields: Record<string, unknown> = {}) {
  for (const id of ids) await deliver(alice, group, id, { kind: 'note', ...fields });
}

function idsOf(member: WireClient): unknown[] {
  return member.received.filter(({ type }) => type === 'message').map(({ id }) => id);
}

/** Waits until one of some members has a message that it was not asked for before. */
async function either(
  members: readonly WireClient[],
  id: string,
  fields: Record<string, unknown> = {},
): Promise<WireFrame & { member: WireClient }> {
  const find = () => {
    for (const member of members)
      for (const frame of member.received)
        if (frame.id === id && frame.attempt === fields.attempt && !seen.has(frame)) return { frame, member };
    return undefined;
  };
  await expect.poll(find).toBeDefined();
  const { frame, member } = find()!;
  seen.add(frame);
  return { ...frame, member };
}

const seen = new WeakSet<WireFrame>();
