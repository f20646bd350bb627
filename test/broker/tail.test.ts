import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import {
  admin,
  barrier,
  connect,
  connectOperator,
  deliver,
  subscribe,
} from '../support/broker/wire-actions.ts';

interface Notice {
  what: string;
  at: number;
  message?: Record<string, unknown>;
  [field: string]: unknown;
}

/** An operator's connection that is told everything, or what one agent does. */
async function tailing(broker: TestBroker, agent?: string) {
  const client = await connectOperator(broker);
  const params = agent === undefined ? { on: true } : { on: true, agent };
  expect(await admin(client, 'tail', params)).toEqual(params);
  const notices = (): Notice[] =>
    client.received
      .filter(({ type, kind }) => type === 'message' && kind === 'event')
      .map(({ body }) => JSON.parse(body!));
  /** `what id outcome` of each. */
  const seen = () =>
    notices().map(({ what, message, outcome }) =>
      [what, message?.id, outcome].filter((part) => part !== undefined).join(' '),
    );
  return { client, notices, seen, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

async function seqOf(client: WireClient, id: string): Promise<number> {
  return (await client.next('message', { id })).seq as number;
}

describe('a tail', () => {
  it('tells operators alone of another private part of a status, which nobody but them and its agent is shown', async () => {
    let now = 0;
    await using broker = await startTestBroker({ monotonic: () => (now += 1_000) });
    await using tail = await tailing(broker);
    await using watch = await connectWire(broker.url, {
      agent: 'operator.watch',
      token: await broker.token('operator.watch', 'observer'),
    });
    await admin(watch, 'tail', { on: true });
    await using ann = await connect(broker, 'ann');
    await using bob = await connect(broker, 'bob');
    for (const status of [
      { step: 1, private: { a: 1 } },
      { step: 2, private: { a: 1 } },
      { step: 3 },
      'busy',
    ])
      ann.send({ type: 'announce', status });
    ann.send({ type: 'announce', status: { step: 4, private: { a: 2 } } });
    await barrier(ann);
    const told = () => tail.notices().filter(({ what }) => what === 'announced');
    await expect.poll(told).toHaveLength(3);
    expect(told().map(({ from, private: part }) => [(from as { agent: string }).agent, part])).toEqual([
      ['ann', { a: 1 }],
      ['ann', undefined],
      ['ann', { a: 2 }],
    ]);
    const shownTo = async (client: WireClient) => {
      client.send({ type: 'list_connected', request_id: 'l', with_status: true, agent: 'ann' });
      const { agents } = await client.next('connected', { request_id: 'l' });
      return (agents as { status: unknown }[])[0]?.status;
    };
    for (const client of [tail.client, ann])
      expect(await shownTo(client)).toEqual({ step: 4, private: { a: 2 } });
    for (const client of [watch, bob]) expect(await shownTo(client)).toEqual({ step: 4 });
    expect(watch.received.filter(({ body }) => body?.includes('announced'))).toEqual([]);
  });

  it('tells of each message when it is stored, handed out and settled, and never what is in it', async () => {
    await using broker = await startTestBroker();
    await using tail = await tailing(broker);
    await using ann = await connect(broker, 'ann');
    await using bob = await connect(broker, 'bob');
    await subscribe(ann);
    await subscribe(bob);
    await deliver(bob, 'ann', 'q', {}, '{"secret":1}');
    const fields = { kind: 'reply', correlation_id: 'q', settles: await seqOf(ann, 'q') };
    await deliver(ann, 'bob', 're:q', fields, '{"secret":22}');
    bob.send({ type: 'ack', seqs: [await seqOf(bob, 're:q')] });
    await expect.poll(tail.seen).toHaveLength(6);
    expect(tail.seen()).toEqual([
      'stored q',
      'delivered q',
      'settled q acked',
      'stored re:q',
      'delivered re:q',
      'settled re:q acked',
    ]);
    const about = (what: string, id: string) =>
      tail.notices().find((one) => one.what === what && one.message?.id === id);
    const question = {
      id: 'q',
      from: { agent: 'bob', address: 'bob', role: 'worker' },
      to: 'ann',
      kind: 'ask',
    };
    const known = { ...question, seq: expect.any(Number), created_at: expect.any(Number), size: 12 };
    const at = expect.any(Number);
    expect(about('stored', 'q')).toEqual({ event: 'tail', what: 'stored', at, message: known });
    expect(about('delivered', 'q')).toEqual({
      ...{ event: 'tail', what: 'delivered', at },
      attempt: 1,
      message: known,
    });
    expect(about('settled', 're:q')).toMatchObject({
      outcome: 'acked',
      message: { correlation_id: 'q', kind: 'reply', size: 13 },
    });
    expect(JSON.stringify(tail.client.received)).not.toContain('secret');
    const header = tail.client.received.find(({ kind }) => kind === 'event');
    expect(header).toMatchObject({ to: 'operator', from: { agent: 'broker', role: 'broker' } });
    expect(header).not.toHaveProperty('seq');
  });

  it('tells how else messages end, of second tries, and of what is refused', async () => {
    await using broker = await startTestBroker();
    await using tail = await tailing(broker);
    await using ann = await connect(broker, 'ann');
    await using bob = await connect(broker, 'bob');
    await deliver(bob, 'ann', 'cancelled');
    bob.send({ type: 'cancel', to: 'ann', correlation_id: 'cancelled' });
    await deliver(bob, 'ann', 'expired', { ttl_ms: 1 });
    await deliver(bob, 'ann', 'poison');
    await subscribe(ann);
    ann.send({ type: 'nack', seqs: [await seqOf(ann, 'poison')], reason: 'not today' });
    ann.send({ type: 'nack', seqs: [await seqOf(ann, 'poison')], dead: true, reason: 'bad' });
    bob.send({ type: 'deliver', to: 'nobody', id: 'x', kind: 'ask' }, '{}');
    await expect.poll(tail.seen).toContain('settled poison dead');
    await expect.poll(tail.seen).toContain('refused');
    expect(tail.seen()).toContain('settled cancelled cancelled');
    expect(tail.seen()).toContain('settled expired expired');
    const poison = tail.notices().filter(({ message }) => message?.id === 'poison');
    expect(poison).toMatchObject([
      { what: 'stored' },
      { what: 'delivered', attempt: 1 },
      { what: 'delivered', attempt: 2 },
      { what: 'settled', outcome: 'dead', reason: 'bad' },
    ]);
    expect(tail.notices().find(({ what }) => what === 'refused')).toMatchObject({
      refused: {
        from: { agent: 'bob' },
        code: 'unknown_recipient',
        id: 'x',
        detail: expect.stringContaining("no agent 'nobody'"),
      },
    });
  });

  it('reports each hold when it begins and ends, but no hold on another agent to a follower of one', async () => {
    await using broker = await startTestBroker();
    await using everything = await tailing(broker);
    await using ofAnn = await tailing(broker, 'ann');
    await using operator = await connectOperator(broker);
    const hold = async (on: string, name?: string) => {
      const reason = 'look';
      const asked = { on, name, reason, unchecked: true, for_ms: 60_000 };
      return ((await admin(operator, 'hold', asked)) as { hold: { id: string } }).hold;
    };
    const ann = await hold('agent', 'ann');
    const bob = await hold('agent', 'bob');
    const tools = await hold('tool', 'mcp_*');
    await admin(operator, 'release', { ids: [bob.id, ann.id] });
    const told = ({ notices }: typeof everything) => notices().map(({ what, hold }) => [what, hold]);
    const placed = [ann, tools].map((one) => ['hold_placed', one]);
    await expect.poll(() => told(ofAnn)).toEqual([...placed, ['hold_ended', ann]]);
    expect(told(everything)).toEqual([
      ...[ann, bob, tools].map((one) => ['hold_placed', one]),
      ...[bob, ann].map((one) => ['hold_ended', one]),
    ]);
  });

  it('of one agent tells what it sends and gets; it ends when it is turned off', async () => {
    await using broker = await startTestBroker();
    await using tail = await tailing(broker, 'ann');
    await using everything = await tailing(broker);
    await using ann = await connect(broker, 'ann#x');
    await using bob = await connect(broker, 'bob');
    await deliver(bob, 'bob', 'own');
    await deliver(bob, 'ann#y', 'to');
    await deliver(ann, 'bob', 'from');
    await expect.poll(everything.seen).toEqual(['stored own', 'stored to', 'stored from']);
    await expect.poll(tail.seen).toEqual(['stored to', 'stored from']);
    expect(await admin(tail.client, 'tail', { on: false })).toEqual({ on: false });
    await everything.client[Symbol.asyncDispose]();
    await deliver(ann, 'bob', 'later');
    await barrier(tail.client);
    expect(tail.seen()).toHaveLength(2);
    expect(await admin(tail.client, 'tail', { on: true })).toEqual({ on: true });
    await deliver(ann, 'bob', 'again');
    await expect.poll(tail.seen).toEqual(['stored to', 'stored from', 'stored again']);
  });

  it('is for the operator, and a wrong parameter is named', async () => {
    await using broker = await startTestBroker();
    await using ann = await connect(broker, 'ann');
    await using minting = await connectWire(broker.url, {
      agent: 'ci-minting',
      token: await broker.token('ci-*'),
    });
    await using operator = await connectOperator(broker);
    for (const client of [ann, minting]) {
      expect(await admin(client, 'tail', { on: true })).toMatchObject({ code: 'forbidden', field: 'op' });
    }
    for (const [params, field] of [
      [{}, 'params.on'],
      [{ on: 'yes' }, 'params.on'],
      [{ on: true, agent: 'Ann' }, 'params.agent'],
    ] as const) {
      expect(await admin(operator, 'tail', params)).toMatchObject({ code: 'bad_frame', field });
    }
    expect(await admin(operator, 'tail', { on: true })).toEqual({ on: true });
  });

  it('that cannot keep up loses notices, says how many, and holds nobody up', async () => {
    await using broker = await startTestBroker({ limits: { liveLane: { messages: 4 } } });
    await using tail = await tailing(broker);
    await using bob = await connect(broker, 'bob');
    const frames = Array.from({ length: 300 }, (_, i) =>
      JSON.stringify({ type: 'deliver', to: 'bob', id: `m${i}`, kind: 'note' }),
    );
    bob.raw(`${frames.join('\n')}\n`);
    await bob.next('delivered', { id: 'm299' });
    const total = () => {
      const told = tail.notices();
      const missed = told.filter(({ what }) => what === 'missed');
      return told.length - missed.length + missed.reduce((sum, one) => sum + Number(one.missed), 0);
    };
    await expect.poll(total).toBe(300);
    expect(tail.seen()).toContain('missed');
    await deliver(bob, 'bob', 'after');
    await expect.poll(() => tail.seen().at(-1)).toBe('stored after');
  });
});
