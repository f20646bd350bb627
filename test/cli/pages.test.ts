import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { callsReplySchema } from '@signalbox/protocol';
import { compileCache } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import { connectFace, type McpClient } from '../support/worker/mcp-client.ts';

const script = fileURLToPath(new URL('../support/mcp-host/pages-server.ts', import.meta.url));
const page = 'ui://app/page.html';
/** Each takes two bytes, so that the page is longer than a message. */
const letters = 150_000;

let workspace: Workspace;

beforeAll(async () => {
  const server = (env: Record<string, string>) => ({
    command: process.execPath,
    args: [script],
    env: { ...compileCache(), ...env },
  });
  workspace = await startWorkspace(() =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state', limits: { message: { bytes: 262_144 } } },
      mcpServers: { one: server({ NAME: 'one' }), two: server({ NAME: 'two', PAGE_LETTERS: `${letters}` }) },
      roles: {
        developer: { tools: ['*'], resources: ['*:*'] },
        caller: { tools: ['*'] },
        second: { tools: ['two:*'] },
        reader: {
          tools: [],
          resources: ['one:Greeting://*', 'one:slack://c012345/x', 'one:file:///notes/a%20b*'],
        },
        thrifty: { tools: ['two:*'], budget: { calls: 1, perSeconds: 3600 } },
      },
    }),
  );
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

/** Connects an agent's executor, and an MCP client to its face. */
async function connect(agent: string, role: string) {
  const { env } = await workspace.agent(agent, role);
  const token = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const executor = await McpProxyExecutor.connect({ url: env.SIGNALBOX_URL!, token, agent });
  const capabilities = {
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  };
  const face = await connectFace(executor, { capabilities });
  return {
    ...face,
    executor,
    async [Symbol.asyncDispose]() {
      await face[Symbol.asyncDispose]();
      await executor.close();
    },
  };
}

async function operator(): Promise<BrokerClient> {
  const token = (await readFile(`${workspace.directory}/state/operator.token`, 'utf8')).trim();
  return await connectBroker({ url: workspace.ready.broker.url, token, agent: requestAddress('operator') });
}

const contentOf = async ({ request }: McpClient, uri: string) => {
  const { contents } = await request('resources/read', { uri });
  return (contents as { uri: string; text: string; mimeType?: string; _meta?: object }[])[0]!;
};
const textOf = async (called: Promise<Record<string, unknown>>) =>
  ((await called).content as { text: string }[])[0]!.text;

test('A resource is read, allowed and followed in every equivalent spelling of its URI, and its server meets its own.', async () => {
  await using reader = await connect('rosa', 'reader');
  const { resources } = await reader.request('resources/list');
  expect((resources as { uri: string }[]).map(({ uri }) => uri)).toEqual([
    'greeting://Bob',
    'slack://C012345/x',
    'file:///notes/a b.txt',
  ]);
  for (const [asked, own] of [
    ['greeting://Bob', 'greeting://Bob'],
    ['GREETING://bOB', 'greeting://Bob'],
    ['slack://c012345/x', 'slack://C012345/x'],
    ['file:///notes/a%20b%2Etxt', 'file:///notes/a b.txt'],
    ['file:///notes/a b.txt', 'file:///notes/a b.txt'],
  ] as const)
    expect(await contentOf(reader, asked)).toEqual({ uri: own, text: `one ${own}` });
  for (const refused of ['slack://c012345/X', 'WordPress://posts/1', 'file:///notes/a b/../../x'])
    await expect(reader.request('resources/read', { uri: refused })).rejects.toThrow();
  const heard = new Promise<string>((resolve) => {
    reader.client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      resolve(params.uri),
    );
  });
  await reader.request('resources/subscribe', { uri: 'Greeting://BOB' });
  expect(await heard).toBe('Greeting://BOB');
  // A hold and an explanation mean the same resource, too.
  await using client = await operator();
  const { hold } = await client.admin('hold', { on: 'tool', name: 'one:GREETING://bob', reason: 'a look' });
  const asked = { op: 'explain_offer', role: 'reader', kind: 'resource', name: 'Greeting://bob' };
  expect(await ask(client, asked)).toMatchObject({
    data: {
      allowed: true,
      rule: "roles.reader.resources: 'one:Greeting://*'",
      held: expect.stringContaining('a look'),
    },
  });
  await client.admin('release', { ids: [hold.id] });

  // The first server's template has the URI of its own resource, so it keeps its name.
  await using developer = await connect('dora', 'developer');
  const { resourceTemplates } = await developer.request('resources/templates/list');
  expect((resourceTemplates as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate)).toEqual([
    'greeting://Bob',
    'signalbox://two/greeting://Bob',
  ]);
});

test('Whoever may call a tool reads its page whole and as it is, under ui://, also if two servers name theirs alike.', async () => {
  for (const role of ['developer', 'caller']) {
    await using client = await connect(`agent-${role}`, role);
    const links = (await client.list())
      .filter(({ name }) => name.endsWith('get-time'))
      .map(({ _meta: meta }) => [(meta!.ui as { resourceUri: string }).resourceUri, meta!['ui/resourceUri']]);
    const other = 'ui://signalbox/two/app/page.html';
    expect(links).toEqual([
      [page, page],
      [other, other],
    ]);
    const { text, ...first } = await contentOf(client, page);
    expect(text).toBe('<p>one</p>');
    const second = await contentOf(client, other);
    expect(second.text).toBe(`<p>two</p>${'é'.repeat(letters)}`);
    expect(second).toEqual({ ...first, uri: other, text: second.text });
    expect(first).toMatchObject({
      mimeType: 'text/html;profile=mcp-app',
      _meta: { ui: { csp: { connectDomains: ['https://example.com'] } } },
    });
  }
  await using second = await connect('sam', 'second');
  expect((await contentOf(second, page)).text).toMatch(/^<p>two/);
  await expect(second.request('resources/read', { uri: 'greeting://Bob' })).rejects.toThrow();
  await using reader = await connect('rosa', 'reader');
  await expect(reader.request('resources/read', { uri: page })).rejects.toThrow();
});

test('A page calls the tools of its server by their own names, once it was read, and no name is ever guessed.', async () => {
  await using client = await connect('wim', 'caller');
  const call = (name: string, params = {}) => textOf(client.call(name, {}, { params }));
  await expect(call('poll-one')).rejects.toThrow("there is no tool 'poll-one'");
  await contentOf(client, page);
  expect(await call('poll-one')).toBe('one poll-one');
  expect(await call('get-time')).toBe('one get-time');
  await expect(call('poll-two')).rejects.toThrow("there is no tool 'poll-two'");
  await contentOf(client, 'ui://signalbox/two/app/page.html');
  expect(await call('poll-two')).toBe('two poll-two');
  await expect(call('get-time')).rejects.toThrow('mcp_one__get-time, mcp_two__get-time');
  expect(await call('get-time', { _meta: { ui: { resourceUri: page } } })).toBe('one get-time');
  expect(await call('mcp_two__get-time')).toBe('two get-time');
  // A face that is new has forgotten the pages, but not what their calls did.
  const over = new Promise<void>(() => {});
  const repeated = { requestId: 'once', mayBeRepeated: over };
  expect(await client.executor.execute({ name: 'mcp_one__poll-one' }, repeated)).toHaveProperty('result');
  const again = await client.executor.execute({ name: 'poll-one' }, repeated);
  expect(again.error?.may_have_run ?? true).toBe(true);
  const never = await client.executor.execute({ name: 'poll-one' }, { ...repeated, requestId: 'never' });
  expect(never.error).toMatchObject({ code: 'tool_not_found', may_have_run: false });
  await using broker = await operator();
  const { calls } = await askData(broker, { op: 'calls' }, callsReplySchema);
  expect(calls.map(({ tool }) => tool)).toContain('mcp_one__poll-one');
  expect(calls.map(({ tool }) => tool)).not.toContain('poll-one');
  expect(JSON.parse(await call('mcp_one__capabilities'))).toMatchObject({
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  });
});

test('A resource that no message takes costs its reader one request, is read by nobody else, and outlives its orchestrator.', async () => {
  await using thrifty = await connect('theo', 'thrifty');
  expect((await contentOf(thrifty, page)).text).toHaveLength(letters + 10);
  await expect(thrifty.request('resources/read', { uri: page })).rejects.toThrow('budget');

  await using second = await connect('sam', 'second');
  const read = { op: 'request', method: 'resources/read', params: { uri: page } } as const;
  const { kept } = (await ask(second.executor.client, read)) as { kept: { uri: string } };
  const part = { ...read, params: { uri: kept.uri } };
  const { env } = await workspace.agent('sam', 'second');
  const printed = await workspace.run(['resources', 'read', page], env);
  expect(printed).toMatchObject({ code: 0, stdout: `<p>two</p>${'é'.repeat(letters)}\n` });
  await using caller = await connect('wim', 'caller');
  expect((await caller.executor.ask(part)).error).toMatchObject({ code: 'not_found' });
  process.kill(workspace.ready.orchestrator.pid, 'SIGKILL');
  const { contents } = (await second.executor.ask(part)).result as { contents: { text: string }[] };
  expect(contents[0]!.text).toMatch(/^\{"content":\[\],"answer":\{"contents":\[/);
});
