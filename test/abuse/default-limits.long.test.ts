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

it('By default 10,000 messages may wait for one agent, and a tenth of them is reserved.', async () => {
  // Its clock runs: so many frames are read later otherwise.
  await using running = await startTestBroker({ durability: 'process' });
  await running.tokenOf('popular');
  for (let n = 0; n < 30; n++) {
    await using sender = await worker(`fan-${n}`, running);
    for (let id = 1; id <= 1000; id++)
      sender.send({ type: 'deliver', to: 'popular', id: `${id}`, kind: 'note' }, 'true');
    await sender.next(['delivered', 'error'], { id: '1000' });
    const refusal = sender.received.find(({ type }) => type === 'error');
    if (refusal === undefined) continue;
    expect(refusal).toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining(
        "at most 9,000 (of 10,000; the rest is reserved) messages for 'popular' may wait or be dead letters",
      ),
    });
    return;
  }
  expect.unreachable('nobody was refused');
});
