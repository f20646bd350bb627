import { connectWire, startBrokerProcess, tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { admin } from '../support/broker/wire-actions.ts';

it('answers before it closes all that it committed, when SIGTERM comes in the middle of a stream', async () => {
  await using dir = await tempDir();
  const dataDir = `${dir.path}/data`;
  for (let round = 0; round < 3; round++) {
    const broker = await startBrokerProcess(dataDir);
    const credentials = { agent: 'operator', token: await broker.operatorToken() };
    await using operator = await connectWire(broker.url, credentials);
    await admin(operator, 'token_issue', { agent: `bob-${round}`, role: 'worker' });
    const isGoing = () => operator.received.some(({ type }) => type === 'going_away');
    const sending = (async () => {
      for (let i = 0; !isGoing(); i++) {
        for (let j = 0; j < 20; j++) {
          operator.send(
            { type: 'deliver', to: `bob-${round}`, id: `r${round}-${i}-${j}`, kind: 'note' },
            '{}',
          );
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await operator.next('delivered', { id: `r${round}-5-0` });
    expect(await broker.terminate()).toBe(0);
    expect((await operator.closed).code).toBe(1001);
    await sending;
    const receipted = operator.received.filter(({ type }) => type === 'delivered').map(({ id }) => id);
    await using again = await startBrokerProcess(dataDir);
    await using reader = await connectWire(again.url, credentials);
    const stored: unknown[] = [];
    for (let cursor: unknown = '0.0'; cursor !== undefined; ) {
      const page = await admin(reader, 'history', { since: 0, limit: 1000, cursor });
      for (const { id } of page.messages as { id: string }[])
        if (id.startsWith(`r${round}-`)) stored.push(id);
      cursor = page.cursor;
    }
    expect(new Set(receipted)).toEqual(new Set(stored));
    expect(stored.length).toBeGreaterThan(100);
    expect(await again.terminate()).toBe(0);
  }
});
