import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { type OddCases, type OddRevision, startOddServer } from '../support/worker/odd-server.ts';
import {
  type Listed,
  type ListMethod,
  type OfficialClient,
  officialClients,
  type Reached,
} from '../support/worker/official-clients.ts';
import { variantsOf } from '../support/worker/variants.ts';

type Json = Record<string, unknown>;

const icons = [{ src: 'https://example.org/i.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }];
const iconFields = ['icons', 'icons.0', 'icons.0.src', 'icons.0.mimeType', 'icons.0.sizes', 'icons.0.theme'];
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' };
const annotationFields = [
  'annotations',
  'annotations.audience',
  'annotations.priority',
  'annotations.lastModified',
];
const shared = { title: 'T', description: 'D', icons, _meta: { a: 1 } };
const sharedFields = ['title', 'description', '_meta', ...iconFields];
const objectSchema = { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] };
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
const schemaFields = ['', '.type', '.properties', '.properties.x', '.required'];

const keyed = (variants: [string, Json][], field: string, prefix = '') =>
  Object.fromEntries(variants.map(([key, one]) => [key, { ...one, [field]: `${prefix}${key}` }]));

const tools = keyed(
  variantsOf(
    {
      ...shared,
      inputSchema: objectSchema,
      outputSchema: objectSchema,
      annotations: { title: 'T', ...Object.fromEntries(hints.map((hint) => [hint, true])) },
      execution: { taskSupport: 'optional' },
    },
    [
      ...sharedFields,
      ...['inputSchema', 'outputSchema'].flatMap((name) => schemaFields.map((field) => name + field)),
      'annotations',
      'annotations.title',
      ...hints.map((hint) => `annotations.${hint}`),
      'execution',
      'execution.taskSupport',
    ],
  ),
  'name',
);
const argument = { name: 'a', title: 'A', description: 'D', required: true };
const prompts = keyed(
  variantsOf({ ...shared, arguments: [argument] }, [
    ...sharedFields,
    'arguments',
    'arguments.0',
    ...Object.keys(argument).map((field) => `arguments.0.${field}`),
  ]),
  'name',
);
const described = { ...shared, mimeType: 'text/plain', annotations };
const describedFields = [...sharedFields, 'mimeType', ...annotationFields];
const resources = keyed(
  variantsOf({ ...described, name: 'R', size: 3 }, [...describedFields, 'name', 'size'], [-1, '48x48']),
  'uri',
  'odd://',
);
const templates = keyed(
  variantsOf({ ...described, name: 'R' }, [...describedFields, 'name']),
  'uriTemplate',
  'odd://{x}/',
);

const mark = 'what the server said';
const blocks: Record<string, Json> = {
  text: { type: 'text', text: mark, annotations, _meta: { a: 1 } },
  image: { type: 'image', data: 'AAAA', mimeType: mark, annotations },
  audio: { type: 'audio', data: 'AAAA', mimeType: mark, _meta: {} },
  link: { ...described, type: 'resource_link', uri: 'odd://a', name: mark, size: 1 },
  embedded: {
    type: 'resource',
    resource: { uri: 'odd://a', mimeType: 'text/plain', text: mark },
    annotations,
  },
};
const toolResults = Object.fromEntries([
  ...variantsOf({ content: [blocks.text], structuredContent: { a: 1 }, isError: true, _meta: { a: 1 } }, [
    'content',
    'structuredContent',
    'isError',
    '_meta',
  ]),
  ...Object.entries(blocks).flatMap(([kind, block]) => {
    const fields = [
      ...Object.keys(block).filter((field) => field !== 'type'),
      ...('icons' in block ? iconFields : []),
      ...('annotations' in block ? annotationFields : []),
      ...('resource' in block ? ['resource.uri', 'resource.mimeType', 'resource.text'] : []),
    ];
    return variantsOf(block, fields).map(([key, one]): [string, Json] => [
      `${kind}_${key}`,
      { content: [{ type: 'text', text: mark }, one] },
    ]);
  }),
]);
const messages = [{ role: 'user', content: blocks.text }];
const promptResults = Object.fromEntries([
  ...variantsOf({ description: 'D', messages, _meta: {} }, [
    'description',
    '_meta',
    'messages.0.content._meta',
  ]),
  ['several blocks', { messages: [{ role: 'user', content: [blocks.text, blocks.image] }] }],
  ['bare text', { messages: [{ role: 'user', content: mark }] }],
]);
const readResults = Object.fromEntries(
  variantsOf({ contents: [{ uri: '', mimeType: 'text/plain', text: mark, _meta: {} }], _meta: {} }, [
    '_meta',
    'contents.0.mimeType',
    'contents.0._meta',
  ]).map(([key, { contents, ...rest }]) => {
    const uri = `odd://anything/${key}`;
    return [uri, { ...rest, contents: (contents as Json[]).map((one) => ({ ...one, uri })) }];
  }),
);

/** Agents get data without content as a text, too: findings/results-without-content.sh. */
function withDataAsText(result: Json): Json {
  const { content, structuredContent } = result;
  const isMere = Array.isArray(content) && content.length === 0 && structuredContent !== undefined;
  return isMere
    ? { ...result, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] }
    : result;
}

const object = { type: 'object' };
/** What servers write, and the fields that clients are shown. */
const examples: Record<string, { sent: Json; shown: Json | undefined }> = {
  'true as a schema': {
    sent: { inputSchema: { ...object, properties: { x: true, y: { required: true } }, required: null } },
    shown: { inputSchema: { ...object, properties: { x: {}, y: {} } } },
  },
  'an empty list as an object': {
    sent: { inputSchema: { ...object, properties: [] } },
    shown: { inputSchema: { ...object, properties: {} } },
  },
  'hints of other types': {
    sent: {
      inputSchema: object,
      annotations: { readOnlyHint: 'true', destructiveHint: null, openWorldHint: 0 },
    },
    shown: { inputSchema: object, annotations: {} },
  },
  'sizes as a text': {
    sent: { inputSchema: object, icons: [{ src: 'a:b', sizes: '16x16 48x48' }] },
    shown: { inputSchema: object, icons: [{ src: 'a:b', sizes: ['16x16', '48x48'] }] },
  },
  'no schema': { sent: {}, shown: { inputSchema: object } },
  'null as the schema': { sent: { inputSchema: null }, shown: { inputSchema: object } },
  'an empty schema': { sent: { inputSchema: {} }, shown: { inputSchema: object } },
  'a union as the schema': {
    sent: { inputSchema: { anyOf: [object, { required: ['x'] }] } },
    shown: { inputSchema: { anyOf: [object, { required: ['x'] }], type: 'object' } },
  },
  'a schema that does not compile': {
    sent: { inputSchema: object, outputSchema: { ...object, properties: { x: { $ref: '#/$defs/none' } } } },
    shown: { inputSchema: object },
  },
  'no JSON Schema': {
    sent: { inputSchema: { ...object, properties: { x: { type: 'int' } } } },
    shown: undefined,
  },
};
const exampleTools = Object.entries(examples).map(([name, { sent }]) => [name, { name, ...sent }] as const);

const results: OddCases['results'] = {
  'tools/list': {
    ...Object.fromEntries(exampleTools),
    ...tools,
    plain: { name: 'plain', inputSchema: { type: 'object' } },
  },
  'prompts/list': { ...prompts, plain: { name: 'plain' } },
  'resources/list': { ...resources, plain: { name: 'P', uri: 'odd://plain' } },
  'resources/templates/list': { ...templates, plain: { name: 'P', uriTemplate: 'odd://anything/{key}' } },
  'tools/call': toolResults,
  'prompts/get': promptResults,
  'resources/read': readResults,
};
const keyOf: Record<ListMethod, (entry: Listed) => string> = {
  'tools/list': ({ name }) => name,
  'prompts/list': ({ name }) => name,
  'resources/list': ({ uri }) => uri!,
  'resources/templates/list': ({ uriTemplate }) => uriTemplate!,
};

const odd = [undefined, null, true, 7, [], 'text', 'x'.repeat(10_000)];
const outcomes: OddCases['outcomes'] = Object.fromEntries([
  ...variantsOf({ error: { code: -32_000, message: mark, data: { a: 1 } }, extra: 1 }, [
    'error',
    'error.code',
    'error.message',
    'error.data',
  ]).map(([key, one]) => [`outcome_${key}`, one]),
  ...[1.5, 2 ** 53, 1e300, 0, -32_042].map((code) => [
    `outcome_code_${code}`,
    { error: { code, message: mark } },
  ]),
  ...odd.map((result, i) => [`outcome_result_${i}`, { result }]),
  ['outcome_both', { result: { content: [] }, error: { code: 1, message: mark } }],
]);
const notification = (method: unknown, params?: unknown) => ({ jsonrpc: '2.0', method, params });
const notes: OddCases['notes'] = Object.fromEntries([
  ...Object.entries({
    'notifications/progress': {
      progressToken: 'TOKEN',
      progress: 1,
      total: 2,
      message: 'M',
      _meta: { a: 1 },
    },
    'notifications/message': { level: 'error', logger: 'L', data: { a: 1 }, _meta: { a: 1 } },
    'notifications/tools/list_changed': { _meta: { a: 1 } },
    'notifications/resources/updated': { uri: 'odd://plain', _meta: { a: 1 } },
    'notifications/cancelled': { requestId: 12_345, reason: 'R' },
    'notifications/unknown': { a: 1 },
  }).flatMap(([method, params]) =>
    variantsOf({ note: notification(method, params) }, [
      'note.params',
      ...Object.keys(params).map((field) => `note.params.${field}`),
      ...(method.endsWith('progress') ? ['note', 'note.jsonrpc', 'note.method'] : []),
    ]).map(([key, { note = null }]): [string, unknown[]] => [`${method}_${key}`, [note]]),
  ),
  ['request', [{ ...notification('ping'), id: 'p' }]],
  ['unknown request', [{ ...notification('vendor/ask', {}), id: 'v' }]],
  ['answer to nobody', [{ jsonrpc: '2.0', id: 12_345, result: {} }]],
]);

/** The way in which an odd server is reached. */
const ways: { transport: 'stdio' | 'http'; revision: OddRevision }[] = [
  { transport: 'stdio', revision: '2025-11-25' },
  { transport: 'http', revision: '2025-11-25' },
  { transport: 'stdio', revision: '2026-07-28' },
  { transport: 'http', revision: '2026-07-28' },
];

/** Each official client, connected to the server itself, if it speaks its revision, and through us. */
type Pair = { direct: OfficialClient | undefined; through: OfficialClient };
let workspace: Workspace;
let clients: Pair[];
/** The environment of the agent's commands. */
let shell: Record<string, string>;

async function start({ transport, revision }: (typeof ways)[number]): Promise<AsyncDisposable> {
  await using starting = new AsyncDisposableStack();
  let server: Reached | undefined;
  const scriptOf = (name: string, folder = 'worker') =>
    fileURLToPath(new URL(`../support/${folder}/${name}.ts`, import.meta.url));
  const { execPath: command } = process;
  const fixture = { command, args: [scriptOf('fixture-server', 'conformance'), 'stdio'] };
  const twoEras = scriptOf('revision-server', 'mcp-host');
  const proxy = { command, args: [twoEras], env: { ERA: 'proxy' }, protocol: 'auto' };
  const cases = { results, outcomes, notes };
  workspace = await startWorkspace(async (directory) => {
    if (transport === 'http') {
      const { url } = starting.use(await startOddServer(revision, () => cases));
      server = { url };
    } else {
      const file = join(directory, 'cases.json');
      await writeFile(file, JSON.stringify(cases));
      server = { command, args: [scriptOf('odd-server')], env: { CASES_FILE: file, REVISION: revision } };
    }
    const protocol = revision === '2026-07-28' ? 'auto' : 'legacy';
    const odd = { ...server, prefix: false, protocol };
    const enabling = (tools: number) => ({ command, args: [scriptOf('enabling-server'), String(tools)] });
    const mcpServers = {
      ...{ odd, busy: enabling(1), calm: enabling(1), large: enabling(1_000) },
      ...(transport === 'stdio' && revision === '2025-11-25' && { proxy, fixture }),
    };
    const tools = ['odd:*', 'busy:*', 'calm:*', 'large:enable', 'proxy:*', 'fixture:*'];
    const roles = { user: { tools, prompts: ['*'], resources: ['*:*'] } };
    return JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' }, mcpServers, roles });
  });
  starting.use(workspace);
  const { env } = await workspace.agent('agent', 'user');
  shell = env;
  const agent = { command, args: signalboxArgv(['worker', 'mcp']), env: cleanEnv(env) };
  clients = await Promise.all(
    officialClients.map(async (connect, i): Promise<Pair> => {
      const isSpoken = revision === '2025-11-25' || i === 1;
      const pair = { direct: isSpoken ? await connect(server!) : undefined, through: await connect(agent) };
      starting.defer(() => pair.through.close());
      starting.defer(async () => pair.direct?.close());
      return pair;
    }),
  );
  const started = starting.move();
  return { [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Progress has a message of at most 4,096 characters through us. */
function withShortMessage(progress: Json): Json {
  const { message } = progress;
  return typeof message === 'string' ? { ...progress, message: message.slice(0, 4096) } : progress;
}

/** Names the fields in which a value differs from what was sent, with the values. */
function differingFields(sent: Json, told: Json | undefined): string[] {
  if (!told) return ['it is missing'];
  // The current revision has no field `execution`.
  return [...new Set([...Object.keys(sent), ...Object.keys(told)])]
    .filter((field) => field !== 'execution' && !isDeepStrictEqual(sent[field], told[field]))
    .map((field) => `${field}: ${shortly(sent[field])} became ${shortly(told[field])}`);
}

function shortly(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 200);
}

/** Returns what a request brings, or `undefined` if the client refuses it. */
const accepted = async <Value>(request: Promise<Value>): Promise<Value | undefined> =>
  await request.catch(() => undefined);

/** The code with which the official client of the older revisions gives a request up. */
const timedOut = -32_001;

/** The error or the answer with which a request ends, in the client's words; `undefined` if the client does not understand it. */
async function endOf(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (thrown) {
    const { code, message, data } = thrown as { code?: unknown; message: string; data?: unknown };
    return typeof code === 'number' && code !== timedOut ? { code, message, data } : undefined;
  }
}

describe.each(ways)('An odd server over $transport in revision $revision', (way) => {
  let started: AsyncDisposable | undefined;
  beforeAll(async () => {
    started = await start(way);
  });
  afterAll(() => started?.[Symbol.asyncDispose]());

  test('An entry of a list that both official clients take directly, they take through us unchanged; one that they refuse takes no other away.', async () => {
    const differences: string[] = [];
    for (const method of Object.keys(keyOf) as ListMethod[]) {
      const byKey = (entries: Listed[]) => new Map(entries.map((entry) => [keyOf[method](entry), entry]));
      const sent = Object.keys(results[method]!);
      const taken: { offered: Map<string, Listed>; own: Map<string, Listed> }[] = [];
      for (const { direct, through } of clients) {
        if (!direct) continue;
        const offered = byKey(await through.list(method));
        expect(offered.size).toBeGreaterThan(0.5 * sent.length);
        expect(offered.has(keyOf[method](results[method]!.plain as Listed))).toBe(true);
        const own: Listed[] = [];
        for (const key of sent) own.push(...((await accepted(direct.list(method, key))) ?? []));
        taken.push({ offered, own: byKey(own) });
      }
      const takenByAll = [...taken[0]!.own.keys()].filter((key) => taken.every(({ own }) => own.has(key)));
      expect(takenByAll.length).toBeGreaterThan(0.15 * sent.length);
      // An example is shown as it says. The client of the current revision takes schemas that are none, which the other one refuses.
      const isMended = (key: string) =>
        Object.hasOwn(examples, key) || (way.revision === '2026-07-28' && /^(?:in|out)putschema_/.test(key));
      for (const key of takenByAll.filter((key) => !isMended(key)))
        for (const { offered, own } of taken)
          differences.push(
            ...differingFields(own.get(key)!, offered.get(key)).map((what) => `${method} ${key}: ${what}`),
          );
    }
    expect(differences).toEqual([]);
  });

  test('Any answer of a server is accepted by the official clients through us and find its words in it; what they accept directly is unchanged.', async () => {
    const requests: Record<string, (client: OfficialClient, key: string) => Promise<unknown>> = {
      'tools/call': (client, key) => client.call('plain', key),
      'prompts/get': (client, key) => client.prompt('plain', key),
      'resources/read': (client, key) => client.read(key),
    };
    const differences: string[] = [];
    for (const { direct, through } of clients) {
      for (const [method, request] of Object.entries(requests)) {
        const answers = Object.entries(results[method]!);
        expect(answers.length).toBeGreaterThan(8);
        for (const [key, sent] of answers) {
          const [told, own] = await Promise.all([
            request(through, key).catch(String),
            direct && accepted(request(direct, key)),
          ]);
          const isKept = own
            ? isDeepStrictEqual(told, withDataAsText(own as Json))
            : typeof told !== 'string' &&
              (!JSON.stringify(sent).includes(mark) || JSON.stringify(told).includes(mark));
          if (!isKept) differences.push(`${method} ${key}: ${shortly(own ?? sent)} became ${shortly(told)}`);
        }
      }
    }
    expect(differences).toEqual([]);
  });

  test('An error of a server reaches the official clients as it does directly, and what is no answer ends a call at once.', async () => {
    const differences: string[] = [];
    for (const { direct, through } of clients) {
      for (const [key, sent] of Object.entries(outcomes)) {
        const told = await endOf(through.call('plain', key));
        const own = direct && (await endOf(direct.call('plain', key)));
        if (!told || (own && !isDeepStrictEqual(own, told)))
          differences.push(`${key} ${shortly(sent)}: ${shortly(own)} became ${shortly(told)}`);
      }
    }
    expect(differences).toEqual([]);
  });

  test('A message of a server before an answer takes the answer from nobody, and official clients are told what they are told directly.', async () => {
    const differences: string[] = [];
    for (const [i, { direct, through }] of clients.entries()) {
      for (const [key, sent] of Object.entries(notes)) {
        const [told, own] = await Promise.all([
          through.told('plain', key),
          direct && accepted(direct.told('plain', key)),
        ]);
        // More reaches a client than directly, since what it would not understand is mended. One of the current revision has to ask for the log.
        const hasAll = (some: unknown[], of: unknown[]) =>
          of.every((one) => some.some((other) => isDeepStrictEqual(one, other)));
        const isKept = own
          ? isDeepStrictEqual(told.answer, own.answer) &&
            hasAll(told.progress, (own.progress as Json[]).map(withShortMessage)) &&
            (i === 1 || hasAll(told.logged, own.logged))
          : JSON.stringify(told.answer).includes('told');
        if (!isKept) differences.push(`${key} ${shortly(sent)}: ${shortly(own)} became ${shortly(told)}`);
      }
    }
    expect(differences).toEqual([]);
  });

  if (way !== ways[0]) return;

  test('Data without content reach agents and shells as a text, too: many clients show a model only the content.', async () => {
    const name = 'mcp_fixture__test_data_alone';
    const content = [{ type: 'text', text: '{"celsius":21}' }];
    const data = { structuredContent: { celsius: 21 } };
    for (const { through } of clients)
      for (const fails of [false, true])
        expect(await through.call(name, '', { fails })).toMatchObject({ content, ...data, isError: fails });
    const { stdout } = await workspace.run(['tools', 'call', name, '{}'], shell);
    expect(stdout).toBe('{"celsius":21}\n');
  });

  test('A proxy that shows older clients alone the tools of the server behind it has its tools.', async () => {
    for (const { through } of clients)
      expect(await through.call('mcp_proxy__legacy', '')).toMatchObject({
        content: [{ text: expect.stringMatching(/^legacy \d+$/) }],
      });
  });

  test('Clients are shown what means the same as what a server wrote, and never a tool that looks safer; no JSON Schema is left out.', async () => {
    const [first] = clients;
    const offered = new Map(
      (await first!.through.list('tools/list')).map(({ name, ...tool }) => [name, tool]),
    );
    const shown = Object.keys(examples).map((name) => [name, offered.get(name.replaceAll(' ', '_'))]);
    expect(shown).toEqual(Object.entries(examples).map(([name, example]) => [name, example.shown]));
  });

  test('The start report and "servers" name what was mended and what was left out.', async () => {
    const mended =
      'true as a schema: mended, because clients would refuse it as its server sent it: inputSchema.properties.y.required, inputSchema.required, inputSchema.properties.x';
    const leftOut =
      "no JSON Schema: left out, not a valid tool: inputSchema: it is no JSON Schema: '/properties/x/type' must be one or more of";
    const { stdout } = await workspace.run(['servers', 'show', 'odd']);
    for (const what of [mended, leftOut]) {
      expect(stdout).toContain(what);
      expect(workspace.ready.orchestrator.warnings).toContainEqual(expect.stringContaining(`odd: ${what}`));
    }
  });

  test('A list that changes all the time is announced three times at once and then once a minute, which delays no other list; calls follow it at once.', async () => {
    const [{ through: watcher }, { through: agent }] = clients as [(typeof clients)[0], (typeof clients)[0]];
    let changes = 0;
    const told = Promise.withResolvers<void>();
    watcher.onToolsChanged(async () => {
      changes++;
      const names = (await watcher.list('tools/list')).map(({ name }) => name);
      if (names.includes('mcp_calm__last')) told.resolve();
    });
    for (let i = 0; i < 6; i++) {
      await agent.call('mcp_busy__enable', '', { name: `new_${i}` });
      expect(await agent.call(`mcp_busy__new_${i}`, '')).toMatchObject({ content: [{ text: `new_${i}` }] });
    }
    await agent.call('mcp_calm__enable', '', { name: 'last' });
    await told.promise;
    expect(changes).toBeLessThanOrEqual(4);
    expect((await watcher.list('tools/list')).map(({ name }) => name)).toContain('mcp_busy__new_5');
  });

  test('A server with as many tools as are shown that adds one says so in its status and in the log.', async () => {
    const [{ through }] = clients as [(typeof clients)[0]];
    await through.call('mcp_large__enable', '', { name: 'one_more' });
    const says = 'one_more: left out: the server has more than 1,000 tools; raise limits.tools of the server';
    await expect.poll(async () => (await workspace.run(['servers', 'show', 'large'])).stdout).toContain(says);
    expect(workspace.up.stderr()).toContain('raise limits.tools of the server');
  });
});
