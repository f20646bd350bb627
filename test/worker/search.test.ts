import { fileURLToPath } from 'node:url';
import { connectBroker } from '@signalbox/client';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { toolCallError } from '@signalbox/protocol';
import { startTestBroker } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';

const search = { toolList: 'search', mailbox: false } as const;
const echo = 'mcp_counter__echo';

interface Found {
  content: { text: string }[];
  structuredContent: { tools: { name: string; inputSchema: unknown }[] };
}

test('The mailbox comes first, in the first line of the instructions and in the list, whatever other tools an agent has.', async () => {
  await using stack = await startToolStack({ resultRules: { reading: { maxInlineBytes: 8192 } } });
  const executors = [await stack.executor('w1'), await stack.executor('w2', 'reading')];
  for (const executor of executors) {
    for (const toolList of ['all', 'search'] as const) {
      for (const permissions of ['ask', undefined] as const) {
        await using face = await connectFace(executor, { toolList, permissions });
        const [first] = (face.client.getInstructions() ?? '').split('\n');
        expect(first).toMatch(/^You share a mailbox with other agents/);
        const names = (await face.list()).map(({ name }) => name);
        expect(names.find((name) => name !== 'permission_prompt')).toMatch(/^signalbox_(?!result_read)/);
        expect(names.includes('signalbox_result_read')).toBe(executor === executors[1]);
      }
    }
  }
});

test('a client of either era sees two tools, finds one by what it does and gets its own result through the other', async () => {
  await using stack = await startToolStack();
  const executor = await stack.executor('w1');
  for (const era of ['legacy', 'modern'] as const) {
    await using all = await connectFace(executor, { era, mailbox: false });
    await using searching = await connectFace(executor, { era, ...search });
    expect((await searching.list()).map(({ name }) => name)).toEqual(['search_tools', 'call_tool']);
    expect(searching.client.getInstructions()).toContain('6 more now');
    expect(searching.client.getInstructions()).toContain('counter (6)');

    const found = (await searching.call('search_tools', {
      query: 'return the arguments again',
      limit: 2,
    })) as unknown as Found;
    const [best] = found.structuredContent.tools;
    const listed = (await all.list()).find(({ name }) => name === echo)!;
    const { name, description, inputSchema } = listed;
    expect(best).toEqual({ name, description, inputSchema });
    expect(found.structuredContent.tools.length).toBeLessThanOrEqual(2);
    expect(found.content[0]!.text).toContain(`## ${echo}\n${description}\n`);
    expect(found.content[0]!.text).toContain(JSON.stringify(inputSchema));

    const direct = await all.call(echo, { n: 1 });
    expect(direct).toMatchObject({ structuredContent: { n: 1 } });
    expect(await searching.call('call_tool', { name: echo, arguments: { n: 1 } })).toEqual(direct);
    expect(await searching.call('call_tool', { name: echo, arguments: '{"n":1}' })).toEqual(direct);
    // A client that knows the name from before may go on using it.
    expect(await searching.call(echo, { n: 1 })).toEqual(direct);
  }
});

test('progress and cancellation go through as with a call of the tool itself; with wrong arguments nothing runs', async () => {
  await using stack = await startToolStack();
  await using face = await connectFace(await stack.executor('w1'), search);
  const messages: unknown[] = [];
  const slow = (ms: number) => ({ name: 'mcp_counter__slow', arguments: { ms } });
  const onprogress = (progress: { message?: string | undefined }) => messages.push(progress.message);
  expect(await face.call('call_tool', slow(40), { onprogress })).toMatchObject({
    structuredContent: { slept: 40 },
  });
  expect(messages).toEqual(['step 1', 'step 2', 'step 3']);

  const abort = new AbortController();
  const call = face.call('call_tool', slow(60_000), { signal: abort.signal });
  await expect.poll(() => stack.ran('slow').length).toBe(3);
  abort.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => stack.ran('slow').at(-1)?.at).toBe('cancelled');

  for (const [tool, args, field] of [
    ['search_tools', { query: ' ' }, "'query'"],
    ['search_tools', { query: 'x', limit: 21 }, "'limit'"],
    ['call_tool', { name: echo, n: 1 }, "'n'"],
  ] as const) {
    const content = [{ text: expect.stringContaining(field) }];
    expect(await face.call(tool, args)).toMatchObject({ ...failed('invalid_arguments', false), content });
  }
  expect(stack.ran('echo')).toEqual([]);
  expect(await face.call('call_tool', { name: echo })).toMatchObject({ structuredContent: {} });
  expect(stack.ran('echo')).toHaveLength(2);
});

test('a role finds and calls only what it may, and an unknown name is answered with the nearest', async () => {
  const allowlist = RoleToolAllowlist.fromEntries([['reader', [echo, 'mcp_counter__big']]]);
  await using stack = await startToolStack({ allowlist });
  await using reader = await connectFace(await stack.executor('rita', 'reader'), search);
  await using builder = await connectFace(await stack.executor('bob', 'builder'), search);
  const names = async (face: typeof reader) => {
    const found = (await face.call('search_tools', { query: 'counts one up' })) as unknown as Found;
    return found.structuredContent.tools.map(({ name }) => name);
  };
  expect(await names(builder)).toContain('mcp_counter__count');
  expect(await names(reader)).not.toContain('mcp_counter__count');
  const count = { name: 'mcp_counter__count' };
  expect(await reader.call('call_tool', count)).toMatchObject({
    isError: true,
    structuredContent: { error: { code: 'permission_denied', may_have_run: false } },
  });
  expect(await builder.call('call_tool', count)).toMatchObject({ structuredContent: { n: 1 } });
  expect(await reader.call('call_tool', { name: 'mcp_counter__ecko' })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`'${echo}'`) }],
  });
  expect(await reader.call('search_tools', { query: 'zebra' })).toMatchObject({
    content: [{ text: expect.stringContaining('None of your 2 tools fits "zebra"') }],
    structuredContent: { tools: [] },
  });
  expect(stack.ran('count')).toHaveLength(2);
});

test('a search without a sound answer is a failure that may be tried again or not, never an empty list', async () => {
  await using broker = await startTestBroker();
  const token = await broker.token('orchestrator', 'orchestrator');
  const orchestrator = await connectBroker({ url: broker.url, token, agent: 'orchestrator' });
  const tools = [{ name: 'a', inputSchema: { type: 'object' } }];
  const answers: Record<string, unknown> = {
    sound: {
      data: {
        tools: [
          { name: 'a', score: 1 },
          { name: 'gone', score: 1 },
        ],
      },
    },
    odd: { data: { tools: 'none' } },
    refused: { error: toolCallError('permission_denied', 'not today', { mayHaveRun: false }) },
  };
  await orchestrator.serve(['mcp_request'], async ({ json }) => {
    const { op, query } = json as { op: string; query: string };
    return {
      kind: 'mcp_reply',
      body: op === 'search' ? answers[query] : { manifest: { version: '1', tools } },
    };
  });
  const worker = { url: broker.url, token: await broker.token('w1'), agent: 'w1' };
  await using executor = await McpProxyExecutor.connect(worker);
  await using face = await connectFace(executor, { era: 'legacy', ...search, searchTimeoutMs: 1_000 });
  const ask = (query: string) => face.call('search_tools', { query });
  expect(await ask('sound')).toMatchObject({ structuredContent: { tools } });
  expect(await ask('odd')).toMatchObject(failed('internal', false));
  expect(await ask('refused')).toMatchObject(failed('permission_denied', false));
  await orchestrator.close();
  expect(await ask('sound')).toMatchObject(failed('mcp_server_unreachable', true));
});

function failed(code: string, retryable: boolean) {
  return { isError: true, structuredContent: { error: { code, retryable, may_have_run: false } } };
}

test('hosted tools that are named as the two are found and called through them, and never in their place', async () => {
  const script = fileURLToPath(new URL('../support/worker/search-names-server.ts', import.meta.url));
  const theirs = { type: 'stdio' as const, command: process.execPath, args: [script], prefix: false };
  await using stack = await startToolStack({ servers: { theirs } });
  await using face = await connectFace(await stack.executor('w1'), search);
  expect((await face.list()).map(({ title }) => title)).toEqual(['Find a tool', 'Call a found tool']);
  const found = (await face.call('search_tools', { query: 'namesake' })) as unknown as Found;
  expect(found.structuredContent.tools.map(({ name }) => name)).toEqual(['call_tool', 'search_tools']);
  for (const name of ['search_tools', 'call_tool']) {
    expect(await face.call('call_tool', { name })).toMatchObject({
      content: [{ text: `the hosted ${name}` }],
    });
  }
});
