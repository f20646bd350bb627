import { connectWire, startTestBroker, type TestBroker, type WireClient } from '@signalbox/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

let broker: TestBroker;
beforeAll(async () => {
  // The clock stands still, so that nothing that was spent is given back.
  broker = await startTestBroker({ durability: 'process', monotonic: () => 1000 });
});
afterAll(() => broker[Symbol.asyncDispose]());

async function worker(agent: string, at = broker): Promise<WireClient> {
  return connectWire(at.url, { agent, token: await at.tokenOf(agent) });
}

it('By default the seventeenth connection of an agent is refused.', async () => {
  await using opened = new AsyncDisposableStack();
  for (let i = 0; i < 16; i++) opened.use(await worker('crowd'));
  await using late = await connectWire(broker.url);
  late.send({ type: 'hello', agent: 'crowd', token: await broker.tokenOf('crowd'), protocol: 1 });
  expect(await late.next('error')).toMatchObject({
    code: 'too_many_connections',
    message: expect.stringContaining('16 connections'),
  });
});

it('By default an agent is read later when its refused frames cost more than 10,000 at once.', async () => {
  await using client = await worker('babbler');
  client.raw('x\n'.repeat(600));
  expect(await client.next('error', { code: 'rate_limited' })).toMatchObject({
    message: expect.stringContaining('more than 10,000 units of frames a second'),
  });
  expect(client.received.filter(({ code }) => code === 'bad_frame').length).toBeLessThan(600);
});

it('By default an agent is read later when it sends more than 16 MiB at once.', async () => {
  await using client = await worker('heavy');
  await broker.tokenOf('friend');
  const body = `"${'x'.repeat(4_000_000)}"`;
  for (const id of ['1', '2', '3', '4', '5']) {
    client.send({ type: 'deliver', to: 'friend', id, kind: 'note' }, body);
  }
  expect(await client.next('error', { code: 'rate_limited' })).toMatchObject({
    message: expect.stringContaining('more than 8,388,608 bytes a second'),
  });
});
