import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker, requestAddress } from '@signalbox/client';
import { sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, npmServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { changeOf, eventsOf } from '../support/orchestrator/manifest-events.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const readers = RoleToolAllowlist.fromEntries([
  ['reader', ['mcp_counter__e*']],
  ['guest', []],
]);

test('each role sees exactly its tools, by the role that the broker attests', async () => {
  await using stack = await startToolStack({ allowlist: readers });
  const reader = await stack.executor('rita', 'reader');
  const guest = await stack.executor('gus', 'guest');
  const builder = await stack.executor('bob', 'builder');
  expect(reader.listTools().map((tool) => tool.name)).toEqual(['mcp_counter__echo']);
  expect(guest.toolCount).toBe(0);
  expect(builder.toolCount).toBe(6);
  expect(builder.findTool('mcp_counter__echo')).toEqual({
    name: 'mcp_counter__echo',
    description: 'Returns its arguments.',
    inputSchema: { type: 'object', properties: {} },
    annotations: { readOnlyHint: true },
  });
  expect(new Set([reader.version, guest.version, builder.version]).size).toBe(3);
});

test('a refused call never reaches the server, while the allowed one does', async () => {
  await using stack = await startToolStack({ allowlist: readers });
  const reader = await stack.client('rita', 'reader');
  const call = (tool: string) =>
    reader.request('orchestrator', 'mcp_request', { op: 'call', tool }, { timeoutMs: 10_000 });
  const refused = await call('mcp_counter__count');
  expect(refused).toMatchObject({
    status: 'completed',
    reply: {
      json: {
        error: {
          code: 'permission_denied',
          category: 'auth',
          message: "tool 'mcp_counter__count' is not allowed for role 'reader'",
          may_have_run: false,
        },
      },
    },
  });
  const allowed = await call('mcp_counter__echo');
  expect(allowed).toMatchObject({ reply: { json: { result: { content: [{}] } } } });
  expect([stack.ran('count').length, stack.ran('echo').length]).toEqual([0, 2]);
});

test('on a real file server a reader may read and not write, and a writer may', async () => {
  await using files = await tempDir();
  const path = join(await realpath(files.path), 'note.txt');
  await writeFile(path, 'as it was');
  await using stack = await startToolStack({
    servers: { files: npmServer('filesystem', await realpath(files.path)) },
    allowlist: RoleToolAllowlist.fromEntries([['reader', ['mcp_files__read_*', 'mcp_files__list_*']]]),
  });
  const reader = await stack.executor('rita', 'reader');
  const raw = await stack.client('rita', 'reader');
  const write = { tool: 'mcp_files__write_file', arguments: { path, content: 'changed' } };
  const refused = await raw.request(
    'orchestrator',
    'mcp_request',
    { op: 'call', ...write },
    { timeoutMs: 10_000 },
  );
  expect(refused).toHaveProperty('reply.json.error.code', 'permission_denied');
  const read = await reader.execute({ name: 'mcp_files__read_text_file', arguments: { path } });
  expect(read.result?.text).toBe('as it was');
  const writer = await stack.executor('will', 'writer');
  const wrote = await writer.execute({ name: write.tool, arguments: write.arguments });
  expect(wrote.result?.success).toBe(true);
  expect(await readFile(path, 'utf8')).toBe('changed');
});

test('a claimed role changes nothing: the view follows the token', async () => {
  await using stack = await startToolStack({ allowlist: readers });
  const reader = await stack.client('rita', 'reader');
  const body = { op: 'manifest', role: 'builder', from: { role: 'builder' } };
  const outcome = await reader.request('orchestrator', 'mcp_request', body, {
    timeoutMs: 10_000,
    ephemeral: true,
  });
  expect(outcome).toMatchObject({
    reply: { json: { manifest: { tools: [{ name: 'mcp_counter__echo' }] } } },
  });
});

test('an asked-for version that is still right is answered without the list', async () => {
  await using stack = await startToolStack({ allowlist: readers });
  const executor = await stack.executor('rita', 'reader');
  const client = await stack.client('rita', 'reader');
  const ask = async (known_version: string) =>
    client.request(
      'orchestrator',
      'mcp_request',
      { op: 'manifest', known_version },
      { timeoutMs: 10_000, ephemeral: true },
    );
  const { version } = executor;
  expect(await ask(version)).toHaveProperty('reply.json', { manifest: { version, unchanged: true } });
  expect(await ask('older')).toHaveProperty('reply.json.manifest.tools.length', 1);
});

test('a change of policy reaches only the agents of the role concerned, and applies to the next call', async () => {
  await using stack = await startToolStack({ allowlist: readers });
  const reader = await stack.executor('rita', 'reader');
  const builder = await stack.executor('bob', 'builder');
  const forReaders = await eventsOf(await stack.client('rita', 'reader'));
  const forBuilders = await eventsOf(await stack.client('bob', 'builder'));

  const readerChanged = changeOf(reader);
  stack.orchestrator.setPolicy({ allowlist: readers.withRole('reader', ['mcp_counter__count']) });
  await readerChanged;
  expect(reader.listTools().map((tool) => tool.name)).toEqual(['mcp_counter__count']);
  expect(await reader.execute({ name: 'mcp_counter__count' })).toHaveProperty('result.success', true);
  expect(await forReaders.next()).toEqual({
    event: 'manifest_changed',
    version: reader.version,
    added: ['mcp_counter__count'],
    removed: ['mcp_counter__echo'],
    changed: [],
  });

  // The next change is the builder's own. Had the first one gone to builders too, it would have come before it.
  const builderChanged = changeOf(builder);
  stack.orchestrator.setPolicy({
    allowlist: readers.withRole('reader', ['mcp_counter__count']).withRole('builder', ['mcp_counter__gate']),
  });
  await builderChanged;
  expect(await forBuilders.next()).toMatchObject({ version: builder.version, added: [] });
  expect(forReaders.waiting).toBe(0);
});

test('a list that changes in its server reaches the roles that see it, and calls follow it at once', async () => {
  await using directory = await tempDir();
  const listFile = join(directory.path, 'list.json');
  const serveTools = (...tools: object[]) => writeFile(listFile, JSON.stringify({ pages: [tools] }));
  await serveTools(toolNamed('announce'), toolNamed('vendor'));
  await using stack = await startToolStack({
    servers: { odd: nonstandardServer(listFile) },
    allowlist: RoleToolAllowlist.fromEntries([
      ['odd', ['mcp_odd__*']],
      ['even', ['mcp_counter__*']],
    ]),
  });
  const worker = await stack.executor('olga', 'odd');
  const forOdd = await eventsOf(await stack.client('olga', 'odd'));
  const forEven = await eventsOf(await stack.client('eve', 'even'));
  const changed = changeOf(worker);
  await serveTools(toolNamed('announce', { title: 'New' }), toolNamed('environment'));
  await worker.execute({ name: 'mcp_odd__announce' });
  await changed;
  expect(await forOdd.next()).toEqual({
    event: 'manifest_changed',
    version: worker.version,
    added: ['mcp_odd__environment'],
    removed: ['mcp_odd__vendor'],
    changed: ['mcp_odd__announce'],
  });
  expect(await worker.execute({ name: 'mcp_odd__vendor' })).toHaveProperty('error.code', 'tool_not_found');
  expect(await worker.execute({ name: 'mcp_odd__environment' })).toHaveProperty('result.success', true);
  expect(forEven.waiting).toBe(0);
});

test('the reply of a call is given to another role of its agent only if that role may use the tool', async () => {
  await using directory = await tempDir();
  await using journal = await openSqliteJournal({ file: join(directory.path, 'journal.db') });
  const key = { agent: 'bea', requestId: 'made-by-a-builder' };
  await journal.start({
    ...key,
    ...{ role: 'builder', tool: 'mcp_counter__count', server: 'counter', inbox: 'i' },
    ...{ receivedAt: 1, startedAt: 1, lifetimeMs: 3_600_000 },
  });
  await journal.finish(key, {
    outcome: 'ok',
    finishedAt: 2,
    reply: '{"result":{"content":[]}}',
  });
  await using stack = await startToolStack({
    journal,
    allowlist: RoleToolAllowlist.fromEntries([
      ['guest', ['counter:echo']],
      ['counting', ['counter:count']],
    ]),
  });
  const timeoutMs = 10_000;
  const status = { op: 'status', request_id: key.requestId } as const;
  const call = { op: 'call', tool: 'mcp_counter__echo', arguments: {} } as const;
  const guest = await stack.client('bea', 'guest');
  expect(await sendOrchestratorRequest(guest, 'orchestrator', status, { timeoutMs })).toEqual({
    data: { state: 'unknown' },
  });
  await using counting = await connectBroker({
    url: stack.broker.url,
    token: await stack.broker.token('bea', 'counting'),
    agent: requestAddress('bea'),
  });
  expect(await sendOrchestratorRequest(counting, 'orchestrator', status, { timeoutMs })).toMatchObject({
    data: { state: 'finished', reply: { result: { content: [] } } },
  });
  // The same request again, as an agent sends it after its broker was restored.
  expect(
    await sendOrchestratorRequest(guest, 'orchestrator', call, { id: key.requestId, timeoutMs }),
  ).toMatchObject({
    error: { code: 'permission_denied', may_have_run: true },
  });
});
