import { startTestBroker, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

interface Listed {
  address: string;
  status?: unknown;
  inbox?: { unread: number; held: number };
}

async function listed(client: WireClient, fields: Record<string, unknown> = { with_status: true }) {
  client.send({ type: 'list_connected', request_id: 'l', ...fields });
  const { agents } = await client.next('connected', { request_id: 'l' });
  return Object.fromEntries((agents as Listed[]).map((one) => [one.address, one.inbox]));
}

describe('what waits for an agent', () => {
  it('is counted on each of its connections, and what its holder has in hand apart', async () => {
    await using broker = await startTestBroker();
    await using ann = await connect(broker, 'ann');
    await using annsTool = await connect(broker, 'ann#mcp-1');
    await using bob = await connect(broker, 'bob');
    await using operator = await connectOperator(broker);
    expect((await listed(operator)).ann).toEqual({ unread: 0, held: 0 });
    for (const id of ['a', 'b', 'c']) await deliver(bob, 'ann', id);
    await deliver(bob, 'ann#mcp-1', 'elsewhere');
    expect(await listed(operator)).toMatchObject({
      ann: { unread: 3, held: 0 },
      'ann#mcp-1': { unread: 3, held: 0 },
      bob: { unread: 0, held: 0 },
    });
    await subscribe(ann, { window: 2 });
    const { seq } = await ann.next('message', { id: 'a' });
    await ann.next('message', { id: 'b' });
    expect((await listed(operator)).ann).toEqual({ unread: 3, held: 2 });
    ann.send({ type: 'ack', seqs: [seq], request_id: 'k' });
    await ann.next('ack_result');
    await ann.next('message', { id: 'c' });
    expect((await listed(operator))['ann#mcp-1']).toEqual({ unread: 2, held: 2 });
    await annsTool[Symbol.asyncDispose]();
    await ann[Symbol.asyncDispose]();
    await expect.poll(async () => Object.keys(await listed(operator)).sort()).toEqual(['bob', 'operator']);
    await using again = await connect(broker, 'ann');
    expect(await listed(again)).toMatchObject({ ann: { unread: 2, held: 0 } });
  });

  it('is told to the agent itself and to the operator, to nobody else, and only with the status', async () => {
    await using broker = await startTestBroker();
    await using ann = await connect(broker, 'ann');
    await using annsTool = await connect(broker, 'ann#x');
    await using bob = await connect(broker, 'bob');
    await deliver(bob, 'ann', 'a');
    const counted = { unread: 1, held: 0 };
    expect(await listed(annsTool)).toEqual({ ann: counted, 'ann#x': counted, bob: undefined });
    expect(await listed(bob)).toEqual({ ann: undefined, 'ann#x': undefined, bob: { unread: 0, held: 0 } });
    expect(await listed(ann, {})).toEqual({ ann: undefined, 'ann#x': undefined, bob: undefined });
  });

  it('is told with what keeps it waiting, of one agent that is asked for', async () => {
    await using broker = await startTestBroker();
    const bob = await connect(broker, 'bob');
    await using ann = await connect(broker, 'ann');
    await using operator = await connectOperator(broker);
    const stateOf = async (client: WireClient, agent: string) => {
      client.send({ type: 'list_connected', request_id: 'l', agent });
      return await client.next('connected', { request_id: 'l' });
    };
    await deliver(bob, 'ann', 'a');
    const seen = await stateOf(operator, 'ann');
    expect(seen.agents).toMatchObject([{ agent: 'ann', inbox: { unread: 1, held: 0 } }]);
    expect(seen.recipient).toEqual({ reads: false, ever_connected: true, unread: 1 });
    await subscribe(ann);
    expect((await stateOf(bob, 'ann')).recipient).toEqual({ reads: true, ever_connected: true });
    await bob[Symbol.asyncDispose]();
    await expect
      .poll(async () => (await stateOf(operator, 'bob')).recipient)
      .toEqual({ reads: false, ever_connected: true, offline_since: expect.any(Number), unread: 0 });
    expect(await stateOf(operator, 'nobody')).not.toHaveProperty('recipient');
  });

  it('is peeked at with a mark on each message that its holder works on', async () => {
    await using broker = await startTestBroker();
    await using ann = await connect(broker, 'ann');
    await using annsTool = await connect(broker, 'ann#x');
    await using bob = await connect(broker, 'bob');
    for (const id of ['read', 'pushed', 'waiting']) await deliver(bob, 'ann', id);
    const marks = async () => {
      annsTool.send({ type: 'peek', request_id: 'p', address: 'ann', bodies: false });
      const { messages } = await annsTool.next('peeked');
      return (messages as { id: string; working?: true }[]).map(({ id, working }) => [id, working]);
    };
    await subscribe(ann, { window: 2 });
    const { seq } = await ann.next('message', { id: 'read' });
    await ann.next('message', { id: 'pushed' });
    ann.send({ type: 'working', seqs: [seq] });
    await deliver(ann, 'bob', 'sent-after-it');
    const unread = [
      ['pushed', undefined],
      ['waiting', undefined],
    ];
    expect(await marks()).toEqual([['read', true], ...unread]);
    ann.send({ type: 'ack', seqs: [seq], request_id: 'k' });
    await ann.next('ack_result');
    expect(await marks()).toEqual(unread);
  });

  it('is told to operators and observers of agents that are not connected, too, with their roles and since when', async () => {
    let now = 1_000_000;
    await using broker = await startTestBroker({ now: () => now });
    await using bob = await connect(broker, 'bob');
    await using operator = await connectOperator(broker);
    for (const agent of ['ann', 'zoe']) await broker.token(agent, agent === 'ann' ? 'writer' : 'worker');
    await deliver(bob, 'zoe', 'a');
    now += 5000;
    for (const id of ['b', 'c']) await deliver(bob, 'ann', id);
    await deliver(bob, 'bob', 'd');
    await deliver(bob, 'ann#sub', 'e');
    const ann = { agent: 'ann', roles: ['writer'], connected: false, pending: 2, oldest_at: 1_005_000 };
    const zoe = { agent: 'zoe', roles: ['worker'], connected: false, pending: 1, oldest_at: 1_000_000 };
    expect(await admin(operator, 'waiting', { connected: false })).toEqual({ agents: [ann, zoe] });
    expect(await admin(operator, 'waiting', { connected: true })).toMatchObject({
      agents: [{ agent: 'bob', connected: true, pending: 1 }],
    });
    expect(await admin(operator, 'waiting', { limit: 1 })).toEqual({ agents: [ann], cursor: 'ann' });
    const rest = await admin(operator, 'waiting', { limit: 2, cursor: 'ann' });
    expect(rest).toMatchObject({ agents: [{ agent: 'bob' }, zoe] });
    expect(rest).not.toHaveProperty('cursor');
    await using _zoe = await connect(broker, 'zoe#face');
    expect(await admin(operator, 'waiting', { connected: false })).toEqual({ agents: [ann] });
    expect(await admin(bob, 'waiting')).toMatchObject({ code: 'forbidden' });
    expect(await admin(operator, 'waiting', { connected: 1 })).toMatchObject({
      code: 'bad_frame',
      field: 'params.connected',
    });
  });
});
