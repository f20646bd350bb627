import { connectBroker } from '@signalbox/client';
import { type FoundTimeline, reads } from '@signalbox/dashboard';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';

test('A timeline shows the newest messages where there are more than it reads, also if nothing happened just now.', async () => {
  let now = Date.now();
  await using broker = await startTestBroker({
    durability: 'process',
    now: () => now,
    limits: { senderToRecipient: { messages: 5000 } },
  });
  const connect = async (agent: string) =>
    await connectBroker({ url: broker.url, token: await broker.tokenOf(agent), agent });
  await using ann = await connect('ann');
  await using bob = await connect('bob');
  await using operator = await connect('operator');
  const search = async (since: number): Promise<FoundTimeline> => {
    const context = {
      client: operator,
      orchestrator: 'orchestrator',
      backup: { state: { state: 'none' as const }, begin: async () => {} },
      signedIn: { agent: 'operator', role: 'operator', permissions: ['operator'] as const, expiresAt: now },
      key: undefined,
      now: () => now,
    };
    return (await reads.timeline!.run(context, { since } as never)) as FoundTimeline;
  };

  await ann.deliver({ to: 'bob', kind: 'ask', id: 'question' });
  now += 2000;
  await bob.deliver({ to: 'ann', kind: 'reply', correlationId: 'question' });
  const all = await search(now - 5000);
  expect(all).toMatchObject({ cut: false, groups: [{ correlation_id: 'question', entries: [{}, {}] }] });
  now += 9000;
  // The request is in another part of the time than its answer.
  expect((await search(0)).groups).toEqual(all.groups);

  const count = 2050;
  const notes = Array.from({ length: count }, (_, index) => `note-${index}`);
  await Promise.all(notes.map((id) => ann.deliver({ to: 'bob', kind: 'note', id })));
  const at = now;
  now += 30_000;
  const found = await search(0);
  expect(found).toMatchObject({ cut: true, since: at });
  expect(found.groups.map(({ correlation_id }) => correlation_id)).toEqual(notes.slice(-200).reverse());
});
