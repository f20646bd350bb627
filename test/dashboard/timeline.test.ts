import { join } from 'node:path';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { type FoundTimeline, reads } from '@signalbox/daemon/dashboard';
import type { CallRecord } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

/** Reads from the API as an operator. */
async function read<Answer>(
  client: BrokerClient,
  path: keyof typeof reads,
  params: object,
  now = Date.now,
): Promise<Answer> {
  const context = {
    client,
    orchestrator: 'orchestrator',
    backup: { state: { state: 'none' as const }, begin: async () => {} },
    signedIn: { agent: 'operator', role: 'operator', permissions: ['operator'] as const, expiresAt: 0 },
    tokens: () => [],
    key: undefined,
    now,
  };
  return (await reads[path]!.run(context, params as never)) as Answer;
}

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
  const search = (since: number) => read<FoundTimeline>(operator, 'timeline', { since }, () => now);

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

test('The calls of an executor with a thread show it, the journal keeps it, and a timeline of the thread has its messages and calls alone.', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: join(directory.path, 'journal.db') });
  await using stack = await startToolStack({ journal });
  const rosa = await stack.executor('rosa', 'worker', { thread: 'build-7' });
  const other = await stack.executor('nina');
  await other.client.deliver({ to: 'rosa', kind: 'task', id: 'build-7' });
  await rosa.execute({ name: 'mcp_counter__count' }, { requestId: 'in-thread' });
  await other.execute({ name: 'mcp_counter__count' }, { requestId: 'alone' });
  const operator = await stack.client('operator', 'operator');
  const { calls } = await read<{ calls: CallRecord[] }>(operator, 'calls', { limit: 10 });
  const threads = new Map(calls.map(({ request_id, thread }) => [request_id, thread]));
  expect(Object.fromEntries(threads)).toEqual({ 'in-thread': 'build-7', alone: undefined });
  const kept = await journal.list({ limit: 10 });
  expect(kept.map(({ requestId, thread }) => thread ?? requestId).sort()).toEqual(['alone', 'build-7']);
  const groupsOf = async (thread: string) => {
    const { groups } = await read<FoundTimeline>(operator, 'timeline', { since: 0, thread });
    return groups.map(({ correlation_id }) => correlation_id).sort();
  };
  expect(await groupsOf('build-7')).toEqual(['build-7', 'in-thread']);
  expect(await groupsOf('alone')).toEqual(['alone']);
});
