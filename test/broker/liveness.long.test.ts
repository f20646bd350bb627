import { connectWire, startTestBroker, storedRows } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';

it('empties a sub-inbox ten minutes after nobody holds it, and never an inbox', async () => {
  let now = 1_000_000;
  await using broker = await startTestBroker({ now: () => now });
  await broker.token('bob');
  await using alice = await connectWire(broker.url, { agent: 'alice', token: await broker.token('alice') });
  for (const to of ['bob#mcp-gone', 'bob#mcp-held', 'bob']) {
    alice.send({ type: 'deliver', to, id: `for ${to}`.replace(' ', '-'), kind: 'note' }, '{}');
    await alice.next('delivered');
  }
  await using holder = await connectWire(broker.url, {
    agent: 'bob#mcp-held',
    token: await broker.token('bob'),
  });
  holder.send({ type: 'subscribe', request_id: 's' });
  await holder.next('message');
  const inboxes = async (): Promise<string[]> => {
    const rows = new Map<string, { inbox: string }[]>(JSON.parse(await storedRows(broker.dataDir)));
    return (rows.get('pending_range') ?? rows.get('message')!).map(({ inbox }) => inbox).sort();
  };
  await vi.waitFor(
    async () => {
      now += 60_000;
      expect(await inboxes()).toEqual(['bob', 'bob#mcp-held']);
    },
    { interval: 500 },
  );
});
