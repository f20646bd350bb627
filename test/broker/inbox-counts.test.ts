import { startTestBroker, type WireClient } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

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
});
