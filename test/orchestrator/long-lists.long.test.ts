import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { discoverServers, readManifest } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import type { Manifest } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { ask } from '../support/orchestrator/requests.ts';
import { startToolStack, type ToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

const description = 'x'.repeat(3000);
const manyTools = (n: number) => Array.from({ length: n }, (_, i) => toolNamed(`tool_${i}`, { description }));
const deepSchema = JSON.parse(`${'{"items":'.repeat(70)}{}${'}'.repeat(70)}`);

let directory: Awaited<ReturnType<typeof tempDir>>;
let stack: ToolStack;
let now = 0;
const listFile = (name: string) => join(directory.path, `${name}.json`);
const writeList = (name: string, ...tools: unknown[]) =>
  writeFile(listFile(name), JSON.stringify({ pages: [tools] }));

beforeAll(async () => {
  directory = await tempDir();
  await Promise.all([
    writeList('long', ...manyTools(1001)),
    writeList('wide', ...manyTools(800)),
    writeList(
      'odd',
      toolNamed('announce'),
      toolNamed('deep'),
      toolNamed('giant', { description: 'x'.repeat(5_000_000) }),
      {
        ...toolNamed('deep_schema'),
        inputSchema: { type: 'object', properties: deepSchema },
      },
    ),
  ]);
  stack = await startToolStack({
    allowlist: RoleToolAllowlist.fromEntries([['narrow', ['mcp_odd__*']]]),
    monotonic: () => now,
    servers: {
      long: nonstandardServer(listFile('long')),
      wide: nonstandardServer(listFile('wide')),
      odd: nonstandardServer(listFile('odd')),
    },
  });
  await stack.host.inventory();
});

afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

async function page(client: Parameters<typeof ask>[0], request: object): Promise<Manifest> {
  const reply = await ask(client, { op: 'manifest', ...request });
  if (!('manifest' in reply)) throw new Error(JSON.stringify(reply));
  return reply.manifest;
}

test('a list of 5 MiB reaches every reader whole, and what a server sends too much is left out and named', async () => {
  const executor = await stack.executor('rosa');
  const names = executor.listTools().map(({ name }) => name);
  const ofServer = (server: string) => names.filter((name) => name.startsWith(`mcp_${server}__`));
  expect([ofServer('long').length, ofServer('wide').length, ofServer('odd')]).toEqual([
    1000,
    800,
    ['mcp_odd__announce', 'mcp_odd__deep'],
  ]);
  expect(await executor.execute({ name: 'mcp_odd__announce' })).toHaveProperty('result');

  const operator = await stack.client('operator', 'operator');
  const { tools } = await readManifest(operator, 'orchestrator');
  expect(tools?.map(({ name }) => name)).toEqual(names);
  const found = await discoverServers(operator, 'orchestrator');
  expect(found.map(({ server, tools }) => [server, tools.length])).toEqual([
    ['counter', expect.any(Number)],
    ['long', 1000],
    ['wide', 800],
    ['odd', 2],
  ]);
  const reply = await ask(operator, { op: 'servers' });
  const reports = ('data' in reply ? reply.data : {}) as {
    servers: { name: string; tool_problems: object[] }[];
  };
  expect(Object.fromEntries(reports.servers.map(({ name, tool_problems }) => [name, tool_problems]))).toEqual(
    {
      counter: [],
      wide: [],
      long: [{ tool: 'tool_1000', message: expect.stringContaining('raise limits.tools of the server') }],
      odd: [
        { tool: 'giant', message: expect.stringContaining('raise limits.toolBytes of the server') },
        { tool: 'deep_schema', message: expect.stringContaining('nests deeper than 60 levels') },
      ],
    },
  );
});

test('a result that nests 20,000 levels is an error of its call', async () => {
  const executor = await stack.executor('rosa');
  expect(await executor.execute({ name: 'mcp_odd__deep' }, { timeoutMs: 5_000 })).toMatchObject({
    error: { code: 'result_too_large', may_have_run: true },
  });
});

test('an MCP client gets pages of a list that is longer than 1,000 tools, and the mailbox on the first one', async () => {
  const executor = await stack.executor('rosa');
  await using face = await connectFace(executor);
  const { tools, nextCursor } = await face.client.request({ method: 'tools/list', params: {} });
  expect(tools).toHaveLength(1000);
  const rest = await face.client.request({ method: 'tools/list', params: { cursor: nextCursor! } });
  const names = [...tools, ...rest.tools].map(({ name }) => name);
  const hosted = executor.listTools().map(({ name }) => name);
  expect(names.slice(names.length - hosted.length)).toEqual(hosted);
  expect(names.slice(0, names.length - hosted.length)).toEqual(
    expect.arrayContaining(['signalbox_inbox_read', 'signalbox_send_message']),
  );
  expect(rest.nextCursor).toBeUndefined();
  const unknown = face.client.request({ method: 'tools/list', params: { cursor: 'bm9uZQ' } });
  await expect(unknown).rejects.toMatchObject({ code: -32602 });
});

test('a cursor leads on for its own role only, in the version of its page only, and must be one', async () => {
  const wide = await stack.client('rosa');
  const narrow = await stack.client('nico', 'narrow');
  const first = await page(wide, {});
  expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThanOrEqual(1024 * 1024);
  const { cursor, version } = first;
  expect(await page(wide, { cursor })).toMatchObject({ version, tools: expect.any(Array) });
  expect(await ask(narrow, { op: 'manifest', cursor })).toMatchObject({ error: { code: 'manifest_moved' } });
  for (const wrong of ['', '1', `99.${cursor!.split('.')[1]}`, 'x'.repeat(257)]) {
    expect(await ask(wide, { op: 'manifest', cursor: wrong })).toMatchObject({
      error: { code: 'invalid_arguments', message: expect.stringContaining("field 'cursor'") },
    });
  }

  const kept = await page(wide, { keep: true });
  const other = await page(await stack.client('otto', 'other'), {});
  await writeList('wide', ...manyTools(1));
  await using changes = changeOf(stack);
  await stack.host.reload('wide');
  await changes.next;
  const moved = { error: { code: 'manifest_moved', retryable: true } };
  expect(
    await ask(await stack.client('otto', 'other'), { op: 'manifest', cursor: other.cursor }),
  ).toMatchObject(moved);
  expect(await page(wide, { cursor: kept.cursor })).toMatchObject({ version, tools: expect.any(Array) });
  now += 30_000;
  expect(await ask(wide, { op: 'manifest', cursor: kept.cursor })).toMatchObject(moved);
  expect((await page(wide, {})).version).not.toBe(version);
});

function changeOf({ host }: ToolStack) {
  const { promise: next, resolve } = Promise.withResolvers<void>();
  const stop = host.onInventoryChanged(() => resolve());
  return { next, [Symbol.asyncDispose]: async () => stop() };
}
