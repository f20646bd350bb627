import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('the journal forgets a call only when the broker says that its request is settled, and never one that runs', async () => {
  await using directory = await tempDir();
  let passed = 0;
  await using journal = await openSqliteJournal({
    file: join(directory.path, 'journal.db'),
    monotonic: () => passed,
    pruneEveryMs: 2,
    limits: { ageMs: 0, keptAgeMs: 0 },
  });
  await using stack = await startToolStack({ journal, askSettledEveryMs: 5 });
  const rosa = await stack.client('rosa');
  const { broker_id: broker } = rosa.welcome;
  const entryOf = (requestId: string) => journal.find({ agent: 'rosa', requestId });
  const start = (requestId: string, inbox: string) =>
    journal.start({
      agent: 'rosa',
      requestId,
      role: 'worker',
      tool: 'mcp_counter__count',
      receivedAt: 1,
      startedAt: 1,
      inbox,
      lifetimeMs: 1000,
    });
  const end = { outcome: 'ok', finishedAt: 2, reply: '{}' } as const;
  for (const [requestId, inbox] of [
    ['unknown', `${broker} orchestrator`],
    ['elsewhere', `another-broker orchestrator`],
  ] as const) {
    await start(requestId, inbox);
    await journal.finish({ agent: 'rosa', requestId }, end);
  }
  const file = `${stack.directory}/open`;
  const running = rosa.request(
    'orchestrator',
    'mcp_request',
    { op: 'call', tool: 'mcp_counter__gate', arguments: { file } },
    { id: 'running', timeoutMs: 20_000 },
  );
  await vi.waitFor(async () => expect(await entryOf('running')).toBeDefined());
  passed += 30_000;
  await vi.waitFor(async () => expect(await entryOf('unknown')).toBeUndefined());
  expect([await entryOf('running'), await entryOf('elsewhere')]).not.toContain(undefined);
  await writeFile(file, '');
  expect(await running).toMatchObject({ status: 'completed' });
  await vi.waitFor(async () => expect(await entryOf('running')).toBeUndefined());
});
