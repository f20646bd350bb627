// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type LimitEntry, limitTable } from '@signalbox/protocol';
import { compileCache, connectWire, lastingPort } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { restTool } from '../support/capabilities/test-catalog.ts';
import { json, startWebServer } from '../support/capabilities/web-server.ts';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { serverScript, startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { figureOf } from '../support/http/ask.ts';

/** Each limit of the broker, with another value than its default. */
const limits = Object.fromEntries(
  Object.entries(limitTable).map(([group, entries]) => [
    group,
    Object.fromEntries(
      Object.entries<LimitEntry>(entries).map(([name, { default: value, max = Number.MAX_SAFE_INTEGER }]) => [
        name,
        value < max ? value + 1 : value - 1,
      ]),
    ),
  ]),
);
const secret = 'a-secret-of-24-characters';
const plenty = { calls: 100, perSeconds: 60 };
const resources = new AsyncDisposableStack();
let workspace: Workspace;
let statusAt: string;

beforeAll(async () => {
  const web = resources.use(await startWebServer(({ url }, response) => json(response, 200, { url })));
  statusAt = `127.0.0.1:${await lastingPort()}`;
  const everything = (more: { env?: object; [key: string]: unknown }) => ({
    command: process.execPath,
    args: [serverScript('@modelcontextprotocol/server-everything')],
    ...more,
    env: { ...compileCache(), ...more.env },
  });
  const lazy = { lazy: true, downWaitMs: 60_000 };
  const config = {
    broker: {
      listen: '127.0.0.1:0',
      data: './state',
      socket: false,
      durability: 'process',
      metrics: 'open',
      limits,
    },
    orchestrator: {
      id: 'tools',
      listen: statusAt,
      concurrency: { perWorker: 1, waitingPerWorker: 1 },
      budgets: { perWorker: { calls: 3, perSeconds: 3600 } },
      limits: { calls: { bytesPerWorker: 20_000 }, perServer: { tools: 12 } },
    },
    worker: { http: '127.0.0.1:0', limits: { bodyBytes: 30_000 } },
    mcpServers: {
      all: everything({ inheritEnv: ['INHERITED'] }),
      own: everything({
        ...lazy,
        share: 'worker',
        includeTools: ['get-*'],
        excludeTools: ['get-tiny-image'],
        env: { WHO: 'of ${instance}' },
      }),
      brief: everything({
        ...{ ...lazy, includeTools: ['trigger-long-*'], keepAliveMs: 1, timeoutMs: 1000 },
      }),
    },
    capabilities: ['./tools'],
    allowHosts: [web.host],
    roles: {
      writer: {
        tools: ['*'],
        send: { to: ['rosa', 'group:desk'], kinds: ['note'] },
        limits: { rates: { messages: 77 } },
      },
      shared: { tools: ['*'], sharedBudget: { calls: 2, perSeconds: 3600 }, budget: plenty },
      quiet: { tools: ['*'], unreadHint: 'off', budget: plenty },
      careful: { tools: ['*'], ask: ['all:get-env'] },
    },
    groups: { desk: { roles: ['quiet'] } },
    hooks: {
      github: { to: 'rosa', secret, signature: 'github' },
      ci: { to: 'rosa', kind: 'note', secret, signature: 'bearer' },
    },
    schedules: { pulse: { every: '1s', to: 'sam', kind: 'note', text: 'tick', catchUp: 'none' } },
    approvals: { deadlineMs: 1000, notify: ['nora'] },
  };
  const write = async (directory: string) => {
    await mkdir(join(directory, 'tools'));
    const tool = restTool('look_up', { base_url: web.origin, path: '/x' });
    await writeFile(join(directory, 'tools', 'look_up.json'), JSON.stringify(tool));
    return JSON.stringify(config);
  };
  workspace = resources.use(await startWorkspace(write, { face: true, env: { INHERITED: 'from outside' } }));
});
afterAll(() => resources.disposeAsync());

const operator = (...args: string[]) => workspace.run([...args, '--config', 'signalbox.yaml']);
const atBroker = (path: string) => workspace.ready.broker.url.replace('ws', 'http') + path;

async function tokenOf(agent: string, role: string): Promise<string> {
  const { env } = await workspace.agent(agent, role);
  return (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
}

/** Connects an agent with a client of MCP's own SDK to worker.http. */
async function connect(agent: string, role: string) {
  const headers = { authorization: `Bearer ${await tokenOf(agent, role)}` };
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const { url } = workspace.ready.face!;
  await client.connect(new StreamableHTTPClientTransport(new URL(url!), { requestInit: { headers } }));
  return {
    client,
    call: (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const says = (text: string) => ({ content: [{ text: expect.stringContaining(text) }] });

test('Each limit under broker.limits holds, and of a role that has its own value that one.', async () => {
  for (const [role, more] of [
    ['quiet', {}],
    ['writer', { rates: { ...limits.rates, messages: 77 } }],
  ] as const) {
    const token = await tokenOf(`w-${role}`, role);
    await using wire = await connectWire(workspace.ready.broker.url, { agent: `w-${role}`, token });
    expect(wire.received[0]).toMatchObject({
      limits: { ...limits, ...more },
      heartbeat_ms: limits.connections!.heartbeatMs,
      dedupe_window_ms: limits.settled!.repeatMs,
      receipt_means: 'written',
    });
  }
});

test('Anybody on this machine reads the metrics if they are open, there is no socket if it is off, and the orchestrator answers at its own address.', async () => {
  const metrics = await fetch(atBroker('/metrics'));
  expect(figureOf(await metrics.text(), 'signalbox_store_limit_bytes')).toBe(limits.store!.bytes);
  expect((await fetch(atBroker('/readyz?verbose'))).status).toBe(200);
  expect(workspace.ready.broker.socket).toBeUndefined();
  for (const path of ['livez', 'readyz'])
    expect((await fetch(`http://${statusAt}/${path}`)).status).toBe(200);
});

test('Webhooks, schedules and groups bring messages, and a role sends only what it may.', async () => {
  await using sam = await connect('sam', 'quiet');
  const heard = sam.call('signalbox_inbox_wait', { timeout_s: 50 });
  await tokenOf('rosa', 'quiet');
  const body = '{"ref":"main"}';
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const github = {
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-delivery': 'd1',
    'x-github-event': 'push',
  };
  const bearer = { authorization: `Bearer ${secret}` };
  for (const [hook, headers, status] of [
    ['github', github, 202],
    ['github', bearer, 401],
    ['ci', bearer, 202],
  ] as const)
    expect((await fetch(atBroker(`/hooks/${hook}`), { method: 'POST', body, headers })).status).toBe(status);
  expect(jsonOf(await operator('inbox', '--of', 'rosa', '--json'))).toMatchObject({
    messages: [
      { from: { agent: 'hook.github' }, kind: 'task' },
      { from: { agent: 'hook.ci' }, kind: 'note' },
    ],
  });
  expect(jsonOf(await operator('hooks', 'list', '--json'))).toMatchObject({
    hooks: [
      { name: 'github', stored: 1, refused: 1 },
      { name: 'ci', stored: 1, refused: 0 },
    ],
  });
  expect(await heard).toMatchObject(says('tick'));
  expect(jsonOf(await operator('schedules', 'list', '--json'))).toMatchObject({
    schedules: [{ name: 'pulse', every_ms: 1000, last_at: expect.any(Number) }],
  });
  const { env } = await workspace.agent('wim', 'writer');
  await tokenOf('quinn', 'quiet');
  for (const [to, kind, code] of [
    ['rosa', 'note', 0],
    ['rosa', 'task', 77],
    ['sam', 'note', 77],
    ['group:desk', 'note', 0],
  ] as const)
    expect(await workspace.run(['send', to, 'hi', '--kind', kind], env), to).toMatchObject({ code });
});

test('Tools come from capability files and from servers as their entries say: filtered, of one agent alone, with what they inherit, started when they are called.', async () => {
  await using ann = await connect('ann', 'quiet');
  const { tools } = await ann.client.listTools();
  const namesOf = (prefix: string) =>
    tools
      .map(({ name }) => name)
      .flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  expect(namesOf('mcp_all__')).toHaveLength(12);
  expect(namesOf('mcp_own__')).toEqual(expect.arrayContaining(['get-env', 'get-sum']));
  expect(namesOf('mcp_own__').filter((name) => !/^get-(?!tiny)/.test(name))).toEqual([]);
  expect(await ann.call('look_up')).toMatchObject(says('"url":"/x"'));
  expect(await ann.call('mcp_all__get-env')).toMatchObject(says('"INHERITED": "from outside"'));
  await using ben = await connect('ben', 'quiet');
  const variable = async ({ call }: typeof ann) =>
    /"WHO": "of (.+)"/.exec(((await call('mcp_own__get-env')).content as { text: string }[])[0]!.text)?.[1];
  const [one, other] = [await variable(ann), await variable(ben)];
  expect([one, other]).toEqual([expect.any(String), expect.any(String)]);
  expect(other).not.toBe(one);
  expect(await variable(ann)).toBe(one);
  await expect.poll(() => workspace.up.stderr()).toMatch(/"server":"brief".*instance stopped/);
  const { content } = await ann.call('mcp_brief__trigger-long-running-operation', { duration: 600 });
  expect(content).toMatchObject([{ text: expect.stringContaining('tool_timeout') }]);
});

test('Budgets, the queue and the size of calls are those of the configuration.', async () => {
  const echo = ({ call }: { call: Awaited<ReturnType<typeof connect>>['call'] }, message = 'hi') =>
    call('mcp_all__echo', { message });
  await using own = await connect('own-budget', 'careful');
  for (let n = 0; n < 3; n++) expect(await echo(own)).toMatchObject(says('Echo: hi'));
  expect(await echo(own)).toMatchObject(says('the budget of 3 calls in 3600 s'));
  await using first = await connect('s1', 'shared');
  await using second = await connect('s2', 'shared');
  for (const one of [first, second]) expect(await echo(one)).toMatchObject(says('Echo: hi'));
  expect(await echo(first)).toMatchObject(says("role 'shared' have together used up the budget of 2 calls"));
  const ps = await workspace.run(['ps', '--config', 'signalbox.yaml']);
  expect(ps.stdout).toMatch(/^own-budget: 3 of 3 calls in 60 min used, the next in (60|59) min$/m);
  expect(ps.stdout).toMatch(/^the agents of role shared together: 2 of 2 calls in 60 min used, the next in /m);

  await using busy = await connect('busy', 'quiet');
  const running = Promise.withResolvers<void>();
  const abort = new AbortController();
  const long = busy.client.callTool(
    { name: 'mcp_all__trigger-long-running-operation', arguments: { duration: 600, steps: 6000 } },
    { signal: abort.signal, onprogress: () => running.resolve(), timeout: 600_000 },
  );
  // It ends only if it fails.
  await Promise.race([running.promise, long]);
  const queued = [echo(busy), echo(busy)];
  expect(await Promise.race(queued)).toMatchObject(says("the queue of 'busy' is full: 1 call waits in it"));
  abort.abort();
  await expect(long).rejects.toThrow();
  expect(JSON.stringify(await Promise.all(queued))).toContain('Echo: hi');
  expect(await echo(busy, 'x'.repeat(21_000))).toMatchObject(
    says('orchestrator.limits.calls.bytesPerWorker'),
  );
  await expect(echo(busy, 'x'.repeat(31_000))).rejects.toThrow('worker.limits.bodyBytes');
});

test('A call that waits for a person is told to whom the configuration names, and ends when its time is over.', async () => {
  await using nora = await connect('nora', 'quiet');
  await using asker = await connect('asker', 'careful');
  const told = nora.call('signalbox_inbox_wait', { timeout_s: 50 });
  expect(await asker.call('mcp_all__get-env')).toMatchObject(says('nobody decided on this call'));
  expect(await told).toMatchObject(says('get-env'));
});

test('New mail is mentioned in results, and not to a role for which it is off.', async () => {
  for (const [role, texts] of [
    ['careful', 2],
    ['quiet', 1],
  ] as const) {
    await tokenOf(`m-${role}`, role);
    expect(await operator('send', `m-${role}`, 'hi', '--kind', 'note')).toMatchObject({ code: 0 });
    await using reader = await connect(`m-${role}`, role);
    const { content } = await reader.call('mcp_all__echo', { message: 'hi' });
    expect(content, role).toHaveLength(texts);
  }
});

/** The requests of a client that writes null for what it leaves out. */
const nullRequests = [
  {
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: { roots: null, sampling: null },
      clientInfo: { name: 'nulls', version: '1', title: null },
      _meta: null,
    },
  },
  { method: 'ping', params: null },
  { method: 'tools/list', params: { cursor: null, _meta: null } },
].map((request, id) => ({ jsonrpc: '2.0', id, ...request }));
const nullAnswers = [{ protocolVersion: '2025-06-18' }, {}, { tools: expect.any(Array) }].map((result, id) =>
  expect.objectContaining({ id, result: expect.objectContaining(result) }),
);

test('A client that writes null for what it leaves out is answered over HTTP, and one that takes only streams gets one.', async () => {
  const headers: Record<string, string> = {
    authorization: `Bearer ${await tokenOf('nulls', 'quiet')}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  const answers: unknown[] = [];
  for (const request of nullRequests) {
    const { url } = workspace.ready.face!;
    const answer = await fetch(url!, { method: 'POST', headers, body: JSON.stringify(request) });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    headers['mcp-session-id'] ??= answer.headers.get('mcp-session-id')!;
    answers.push(JSON.parse(/^data: (\{.*)$/m.exec(await answer.text())![1]!));
  }
  expect(answers).toEqual(nullAnswers);
});

test('A client that writes null for what it leaves out is answered by worker mcp, too.', async () => {
  const { env } = await workspace.agent('null-pipes', 'quiet');
  const child = spawn(process.execPath, signalboxArgv(['worker', 'mcp', '--orchestrator', 'tools']), {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answers: unknown[] = [];
  for (const request of nullRequests) {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    answers.push(JSON.parse(String((await lines.next()).value)));
  }
  const ended = once(child, 'close');
  child.stdin.end();
  await ended;
  expect(answers).toEqual(nullAnswers);
});

test('A worker that asks for another orchestrator than the one that runs says that, and not that no broker answers.', async () => {
  const { env } = await workspace.agent('lost', 'quiet');
  const run = await workspace.run(['worker', 'mcp', '--orchestrator', 'orchestrator', '--json'], env);
  expect(run).toMatchObject({ code: 75, stdout: '' });
  expect(JSON.parse(run.stderr)).toMatchObject({
    error: { code: 'no_consumer', hint: expect.stringContaining('--orchestrator NAME') },
  });
});
