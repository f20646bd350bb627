import { readFile } from 'node:fs/promises';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { callsReplySchema } from '@signalbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, contentOf, letters, page, startPages } from '../support/cli/pages.ts';
import type { Workspace } from '../support/cli/workspace.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';

let workspace: Workspace;

beforeAll(async () => {
  workspace = await startPages();
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

async function operator(): Promise<BrokerClient> {
  const token = (await readFile(`${workspace.directory}/state/operator.token`, 'utf8')).trim();
  return await connectBroker({ url: workspace.ready.broker.url, token, agent: requestAddress('operator') });
}
const textOf = async (called: Promise<Record<string, unknown>>) =>
  ((await called).content as { text: string }[])[0]!.text;

test('A resource is read, allowed and followed in every equivalent spelling of its URI, and its server meets its own.', async () => {
  await using reader = await connect(workspace, 'rosa', 'reader');
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
  const asked = { op: 'explain_mcp_content', role: 'reader', kind: 'resource', name: 'Greeting://bob' };
  expect(await ask(client, asked)).toMatchObject({
    data: {
      allowed: true,
      rule: "roles.reader.resources: 'one:Greeting://*'",
      held: expect.stringContaining('a look'),
    },
  });
  await client.admin('release', { ids: [hold.id] });

  // The first server's template has the URI of its own resource, so it keeps its name.
  await using developer = await connect(workspace, 'dora', 'developer');
  const { resourceTemplates } = await developer.request('resources/templates/list');
  expect((resourceTemplates as { uriTemplate: string }[]).map(({ uriTemplate }) => uriTemplate)).toEqual([
    'greeting://Bob',
    'signalbox://two/greeting://Bob',
  ]);
});

test('Whoever may call a tool reads its page whole and as it is, under ui://, also if two servers name theirs alike.', async () => {
  for (const role of ['developer', 'caller']) {
    await using client = await connect(workspace, `agent-${role}`, role);
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
  await using second = await connect(workspace, 'sam', 'second');
  expect((await contentOf(second, page)).text).toMatch(/^<p>two/);
  await expect(second.request('resources/read', { uri: 'greeting://Bob' })).rejects.toThrow();
  await using reader = await connect(workspace, 'rosa', 'reader');
  await expect(reader.request('resources/read', { uri: page })).rejects.toThrow();
});

test('A page calls the tools of its server by their own names, once it was read, and no name is ever guessed.', async () => {
  await using client = await connect(workspace, 'wim', 'caller');
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
  const guessed = calls.filter(({ tool }) => tool === 'poll-one').map(({ outcome }) => outcome);
  expect(new Set(guessed)).toEqual(new Set(['tool_not_found']));
  expect(JSON.parse(await call('mcp_one__capabilities'))).toMatchObject({
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  });
});
