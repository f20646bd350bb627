import { join } from 'node:path';
import { listCalls } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { explanationSchema } from '@signalbox/protocol';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { ask, askData, callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('Tools of a server without a prefix are listed, allowed, explained and called by their own names.', async () => {
  await using directory = await tempDir();
  await using stack = await startToolStack({
    servers: {
      bare: { ...counterServer(join(directory.path, 'bare.jsonl')), prefix: false },
      rival: { ...counterServer(join(directory.path, 'rival.jsonl')), prefix: false, lazy: true },
    },
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['echo', 'mcp_bare__*']]]),
  });
  const rita = await stack.executor('rita', 'reader');
  expect(rita.listTools().map(({ name }) => name)).toEqual(['echo']);
  expect(await rita.execute({ name: 'echo', arguments: { n: 1 } })).toMatchObject({
    result: { structuredContent: { n: 1 } },
  });
  // It went to the server without a prefix, not to the one that has the tool under a longer name.
  expect(stack.ran('echo')).toEqual([]);
  const reader = await stack.client('rita', 'reader');
  expect(await callError(reader, 'count')).toMatchObject({ code: 'permission_denied' });
  expect(await callError(reader, 'mcp_bare__echo')).toMatchObject({ code: 'tool_not_found' });
  const operator = await stack.client('operator', 'operator');
  const explain = (tool: string) =>
    askData(operator, { op: 'explain', role: 'reader', tool }, explanationSchema);
  expect(await explain('echo')).toMatchObject({ allowed: true, exists: true, server: 'bare' });
  expect(await explain('count')).toMatchObject({ allowed: false, exists: true, server: 'bare' });
  const named = await listCalls(operator, 'orchestrator', { tool: 'bare:echo' });
  expect(named.filter(({ server }) => server === 'bare')).toMatchObject([{ tool: 'echo', outcome: 'ok' }]);

  // Two servers cannot have one name each; the second is told, once it is known what it has.
  await ask(operator, { op: 'start', server: 'rival' });
  const { problems } = await stack.host.inventory();
  expect(problems).toContainEqual(
    expect.objectContaining({ server: 'rival', tool: 'echo', message: expect.stringContaining('left out') }),
  );
  expect(await explain('echo')).toMatchObject({ server: 'bare' });
});

test('A name that may be one of a server that is down is not said to exist nowhere.', async () => {
  const broken = { type: 'stdio' as const, command: process.execPath, args: ['--version'], prefix: false };
  await using stack = await startToolStack({ servers: { broken } });
  const client = await stack.client('walt');
  expect(await callError(client, 'any_name')).toMatchObject({ code: 'mcp_server_unreachable' });
  expect(await callError(client, 'mcp_counter__nothing')).toMatchObject({ code: 'tool_not_found' });
});
