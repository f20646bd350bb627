import { McpContentAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { npmServer, oddMcpContentServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace, connectProcess, eras, type McpClient } from '../support/worker/mcp-client.ts';

type Json = Record<string, unknown>;

const prefix = 'mcp_everything__';
const anything = { type: 'ref/prompt', name: '' };

/** Returns a client's prompts and resources, and the answers about them, without the parts in which two runs or two eras may differ. */
async function seenBy({ request }: McpClient, of: { prefix: string; uris: string[]; prompts: Json[] }) {
  const ask = async (method: string, params: Json = {}) => {
    const answer = await request(method, params).catch(({ code, message, data }) => ({
      code,
      message,
      data,
    }));
    const { _meta, ttlMs, cacheScope, ...rest } = answer as Json;
    return rest;
  };
  const named = ({ name, ...rest }: Json) => ({ ...rest, name: `${of.prefix}${name}` });
  const { prompts } = (await ask('prompts/list')) as { prompts: Json[] };
  const reference = { ...anything, name: `${of.prefix}${of.prompts.at(-1)!.name}` };
  const argument = { name: 'department', value: 'E' };
  const seen = {
    prompts: prompts
      .filter(({ name }) => String(name).startsWith(of.prefix))
      .map(({ name, ...rest }) => ({ ...rest, name: String(name).slice(of.prefix.length) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    resources: await ask('resources/list'),
    templates: await ask('resources/templates/list'),
    read: await Promise.all(of.uris.map((uri) => ask('resources/read', { uri }))),
    got: await Promise.all(of.prompts.map((prompt) => ask('prompts/get', named(prompt)))),
    completed: await ask('completion/complete', { ref: reference, argument }),
  };
  return JSON.parse(JSON.stringify(seen).replace(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, 'TIME')) as typeof seen;
}

test('Prompts, resources, templates and completions of a real server reach clients of both eras as they are, names aside.', async () => {
  const everything = npmServer('everything', 'stdio');
  await using stack = await startToolStack({ servers: { everything }, counter: false });
  await using direct = await connectProcess(everything);
  const uris = ['demo://resource/static/document/features.md', 'demo://resource/dynamic/text/7'];
  const prompts = [
    { name: 'simple-prompt' },
    { name: 'args-prompt', arguments: { city: 'Oslo' } },
    { name: 'args-prompt' },
    { name: 'resource-prompt', arguments: { resourceType: 'Text', resourceId: '2' } },
    { name: 'completable-prompt', arguments: { department: 'Engineering', name: 'A' } },
  ];
  const expected = await seenBy(direct, { prefix: '', uris, prompts });
  expect(expected.prompts).toHaveLength(4);
  expect(expected.completed).toMatchObject({ completion: { values: ['Engineering'] } });
  for (const era of eras) {
    await using face = await connectFace(await stack.executor('agent'), { era });
    expect(await seenBy(face, { prefix, uris, prompts })).toEqual(expected);
    const instructions = face.client.getInstructions();
    expect(instructions).toContain("The MCP server 'everything' says of itself:\n| # Everything Server");
  }
});

/** The form of an error for an item that a role may not use. */
const refused = (code: number) => expect.objectContaining({ code });

test('Of two roles on one server neither sees or reads what is not its own, in lists and at each request.', async () => {
  await using fixture = await startFixture();
  const mcpContent = McpContentAllowlist.fromEntries(
    [
      ['texts', { resources: ['fixture:test://static-text', 'fixture:test://template/1*'] }],
      ['pictures', { resources: ['fix*:test://static-b*'], prompts: ['fixture:test_prompt_with_image'] }],
      ['none', {}],
    ],
    { unlisted: 'deny' },
  );
  const servers = { fixture: { type: 'http' as const, url: fixture.url } };
  await using stack = await startToolStack({ servers, mcpContent, counter: false });
  for (const era of eras) {
    await using texts = await connectFace(await stack.executor(`a-${era}`, 'texts'), { era });
    await using pictures = await connectFace(await stack.executor(`b-${era}`, 'pictures'), { era });
    await using none = await connectFace(await stack.executor(`c-${era}`, 'none'), { era });
    const listOf = async ({ request }: McpClient, method: string, field: string, key: string) => {
      const list = (await request(method)) as Record<string, Json[]>;
      return list[field]!.map((entry) => entry[key]);
    };
    const resources = (client: McpClient) => listOf(client, 'resources/list', 'resources', 'uri');
    expect(await resources(texts)).toEqual(['test://static-text']);
    expect(await resources(pictures)).toEqual(['test://static-binary']);
    expect(await listOf(pictures, 'prompts/list', 'prompts', 'name')).toEqual([
      'mcp_fixture__test_prompt_with_image',
    ]);
    expect(await listOf(texts, 'resources/templates/list', 'resourceTemplates', 'name')).toEqual([]);

    const read = ({ request }: McpClient, uri: string) => request('resources/read', { uri });
    expect(await read(texts, 'test://static-text')).toMatchObject({
      contents: [{ uri: 'test://static-text' }],
    });
    await expect(read(pictures, 'test://static-text')).rejects.toEqual(refused(-32602));
    // The SDK's client reads the code of the earlier revisions as the present one.
    const code = era === 'legacy' ? -32002 : -32602;
    expect(pictures.written.at(-1)).toMatchObject({ error: { code, data: { uri: 'test://static-text' } } });
    expect(await read(pictures, 'test://static-binary')).toMatchObject({
      contents: [{ blob: expect.any(String) }],
    });
    await expect(read(texts, 'test://static-binary')).rejects.toEqual(refused(-32602));
    expect(await read(texts, 'test://template/123/data')).toMatchObject({
      contents: [{ mimeType: 'application/json' }],
    });
    await expect(read(texts, 'test://template/2/data')).rejects.toEqual(refused(-32602));
    for (const uri of [
      'test://template/1/../../static-binary',
      'test://template/1%2e%2e',
      'TEST://static-binary',
    ])
      await expect(read(texts, uri)).rejects.toEqual(refused(-32602));
    expect(await read(texts, 'signalbox://fixture/test://static-text')).toMatchObject({
      contents: [{ uri: 'signalbox://fixture/test://static-text' }],
    });
    await expect(read(texts, 'signalbox://fixture/test://static-binary')).rejects.toEqual(refused(-32602));

    const get = ({ request }: McpClient, name: string) => request('prompts/get', { name });
    expect(await get(pictures, 'mcp_fixture__test_prompt_with_image')).toHaveProperty('messages');
    await expect(get(pictures, 'mcp_fixture__test_simple_prompt')).rejects.toEqual(refused(-32602));
    // A role without any prompts is not told that there are some.
    expect(texts.client.getServerCapabilities()).not.toHaveProperty('prompts');
    for (const [client, method] of [
      [texts, 'prompts/list'],
      [none, 'prompts/list'],
      [none, 'resources/list'],
      [none, 'resources/read'],
      [none, 'completion/complete'],
    ] as const)
      await expect(client.request(method, {})).rejects.toEqual(refused(-32601));
    expect(none.client.getServerCapabilities()).not.toHaveProperty('resources');
  }

  // An item that becomes forbidden is refused at the next request, and the lists follow.
  const executor = await stack.executor('late', 'texts');
  await using face = await connectFace(executor);
  const told = new Promise<void>((resolve) => {
    face.client.setNotificationHandler('notifications/resources/list_changed', () => resolve());
  });
  stack.orchestrator.setPolicy({
    mcpContent: mcpContent.withRole('texts', { resources: ['fixture:test://watched*'] }),
  });
  await told;
  expect(await face.request('resources/list')).toMatchObject({
    resources: [{ uri: 'test://watched-resource' }],
  });
  await expect(face.request('resources/read', { uri: 'test://static-text' })).rejects.toEqual(
    refused(-32602),
  );
});

test('A server with strange lists and answers harms nobody: what is left of it is shown, and the rest is told.', async () => {
  const env = { RESOURCES: '12345', API_TOKEN: 'abcdefghijklmnop' };
  await using stack = await startToolStack({
    servers: { odd: oddMcpContentServer(env), other: oddMcpContentServer() },
  });
  await using face = await connectFace(await stack.executor('agent'));
  const uris: unknown[] = [];
  for (let cursor: unknown; ; ) {
    const page = (await face.request('resources/list', cursor === undefined ? {} : { cursor })) as {
      resources: Json[];
      nextCursor?: string;
    };
    uris.push(...page.resources.map(({ uri }) => uri));
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  // The other server has three resources with the same URIs.
  expect(uris).toHaveLength(10_003);
  expect(new Set(uris).size).toBe(10_003);
  expect(uris.slice(-3)).toEqual([0, 1, 2].map((i) => `signalbox://other/odd://${i}`));
  const { problems } = await stack.host.inventory();
  const told = problems.filter(({ server }) => server === 'odd').map(({ message }) => message);
  expect(told).toContain(
    'left out with all resources after it: the server has more than 10,000 resources; raise limits.resources of the server',
  );
  expect(told).toContain('the prompt list repeats a cursor; what was read so far is shown');

  const read = async (uri: string) => {
    const answer = await face
      .request('resources/read', { uri })
      .catch(({ code, message }) => ({ code, message }));
    return answer as Json;
  };
  expect(await read('odd://wrong')).toEqual({
    code: -32603,
    message: expect.stringMatching(
      /server 'odd' answered the read of 'odd:\/\/wrong' with another resource$/,
    ),
  });
  expect(await read('odd://shapeless')).toMatchObject({ code: -32603 });
  expect(await read('odd://huge')).toMatchObject({
    code: -32603,
    message: expect.stringContaining('can be delivered'),
  });
  expect(await read('odd://secret')).toMatchObject({ contents: [{ text: 'token [redacted]' }] });
  expect(await read('odd://free')).toMatchObject({
    'x-vendor': [1],
    _meta: { 'vendor/read': expect.any(Number) },
  });
  const [first, second] = [await read('odd://lasting'), await read('odd://lasting')];
  expect(second).toEqual(first);
  expect(await read('odd://1')).not.toEqual(await read('odd://1'));
});
