import { join } from 'node:path';
import { readManifest } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { gatedServer } from '../support/mcp-host/gated-server.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, watchListChanges } from '../support/worker/mcp-client.ts';

test('An agent is told which of its servers have told no tool yet, of no other one, and of the tools when they come.', async () => {
  await using dir = await tempDir();
  const { open, ...gated } = gatedServer(join(dir.path, 'gate'));
  const gone = { type: 'stdio' as const, command: 'no-such-program-here', maxRestarts: 0 };
  await using stack = await startToolStack({
    counter: false,
    servers: { gated: { type: 'stdio', ...gated }, gone, 'not for lists': { ...gone, toolDiscovery: false } },
    tuning: { firstInventoryMs: 100 },
    allowlist: RoleToolAllowlist.fromEntries(
      [
        ['user', ['mcp_gated__env*']],
        ['both', ['g*:*']],
        ['stranger', ['mcp_other__*', 'mcp_gate__*', 'other:*']],
      ],
      { unlisted: 'deny' },
    ),
  });
  const listOf = async (role: string) => readManifest(await stack.client(role, role), 'orchestrator');
  const reason = "its command 'no-such-program-here' was not found (ENOENT)";
  const isStarting = { server: 'gated', state: 'starting' };
  expect(await listOf('user')).toMatchObject({ tools: [], not_ready: [isStarting] });
  expect((await listOf('both')).not_ready).toEqual([isStarting, { server: 'gone', state: 'failed', reason }]);
  for (const role of ['stranger', 'unlisted']) expect(await listOf(role)).not.toHaveProperty('not_ready');

  const executor = await stack.executor('w1', 'user');
  await using connection = await connectFace(executor, { mailbox: false });
  expect(await connection.list()).toEqual([]);
  expect(await executor.execute({ name: 'mcp_gated__environment' })).toMatchObject({
    error: { code: 'mcp_server_unreachable', message: expect.stringContaining("'gated' has not listed") },
  });
  const changes = await watchListChanges(connection.client);
  await open();
  await changes.reached(1);
  expect((await connection.list()).map(({ name }) => name)).toEqual(['mcp_gated__environment']);
  expect(await executor.execute({ name: 'mcp_gated__environment' })).toHaveProperty('result');
  expect(await listOf('user')).not.toHaveProperty('not_ready');
});

test('An operator is shown the list at once while servers start; an agent gets it when they have started.', async () => {
  await using dir = await tempDir();
  const { open, ...gated } = gatedServer(join(dir.path, 'gate'));
  await using stack = await startToolStack({
    counter: false,
    servers: { gated: { type: 'stdio', ...gated } },
  });
  const agent = stack.executor('w1');
  const listed = await readManifest(await stack.client('operator', 'operator'), 'orchestrator');
  expect(listed).toMatchObject({ tools: [], not_ready: [{ server: 'gated', state: 'starting' }] });
  await open();
  expect((await agent).listTools().map(({ name }) => name)).toEqual(['mcp_gated__environment']);
});
