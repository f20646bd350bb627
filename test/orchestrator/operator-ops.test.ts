import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAudit } from '@signalbox/client/operator';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import {
  type AuditEntryKind,
  discoveryReplySchema,
  explanationSchema,
  operationPermissions,
  sampledMetrics,
  searchReplySchema,
  serverReplySchema,
  serversReplySchema,
} from '@signalbox/protocol';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { explained } from '../support/orchestrator/explained-step.ts';
import { ask, askData, callError } from '../support/orchestrator/requests.ts';
import { startToolStack, type ToolStackOptions } from '../support/orchestrator/tool-stack.ts';

const echo = 'mcp_counter__echo';
const gate = 'mcp_counter__gate';

/** Three servers: `counter`, `odd` whose list is a file, and `quiet` whose tools are in no list. */
async function startOperatedFleet(options: ToolStackOptions = {}) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const listFile = join(directory.path, 'list.json');
  const serveTools = (...tools: object[]) => writeFile(listFile, JSON.stringify({ pages: [tools] }));
  await serveTools(toolNamed('announce'), toolNamed('vendor', { description: 'Draws a chart.' }));
  const stack = starting.use(
    await startToolStack({
      servers: {
        odd: nonstandardServer(listFile),
        quiet: { ...counterServer(join(directory.path, 'quiet.jsonl')), toolDiscovery: false },
      },
      allowlist: RoleToolAllowlist.fromEntries([
        ['reader', ['mcp_counter__e*', 'mcp_quiet__echo']],
        ['guest', []],
      ]),
      ...options,
    }),
  );
  const operator = await stack.client('operator', 'operator');
  const reader = await stack.client('rita', 'reader');
  const started = starting.move();
  return { ...stack, serveTools, operator, reader, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

test('operators see, stop, start and reload servers; nobody else does', async () => {
  await using stack = await startOperatedFleet({ serverConcurrency: { counter: 1 } });
  const { operator, reader } = stack;
  for (const [op, needs] of Object.entries(operationPermissions.request)) {
    const decision = { id: 'k7f3mz', verdict: 'approve' };
    const backup = { directory: '/b', backup_id: 'b' };
    const call = { agent: 'rita', request_id: 'r1' };
    const acceptance = { kind: 'prompt', name: 'x', seen: 'x' };
    const samples = { last_ms: 1000, of: [{ metric: sampledMetrics.orchestrator[0] }] };
    const body = {
      op,
      server: 'counter',
      role: 'reader',
      tool: echo,
      ...acceptance,
      ...samples,
      ...backup,
      ...decision,
      ...call,
    };
    expect(await ask(reader, body)).toMatchObject({
      error: {
        code: 'permission_denied',
        message: `'${op}' needs a token with the permission ${needs.join(' or ')}, and this one has the role 'reader'`,
        may_have_run: false,
      },
    });
  }
  const observer = await stack.client('operator.watch', 'observer');
  expect(await ask(observer, { op: 'servers' })).toMatchObject({ data: { servers: expect.any(Array) } });
  expect(await ask(observer, { op: 'stop', server: 'counter' })).toMatchObject({
    error: { code: 'permission_denied', message: expect.stringContaining('with the permission operator') },
  });
  expect(await callError(observer, echo)).toMatchObject({ code: 'permission_denied', may_have_run: false });
  const report = async (name: string) => {
    const { servers } = await askData(operator, { op: 'servers' }, serversReplySchema);
    expect(servers.map((server) => server.name).sort()).toEqual(['counter', 'odd', 'quiet']);
    return servers.find((server) => server.name === name)!;
  };
  const opener = `${stack.directory}/open`;
  const calls = [1, 2].map(() => callError(operator, gate, { file: opener }));
  await expect
    .poll(() => report('counter'))
    .toMatchObject({
      state: 'ready',
      transport: 'stdio',
      share: 'all',
      in_flight: 1,
      waiting: 1,
      restarts: 0,
    });
  expect(
    await askData(operator, { op: 'explain', role: 'builder', tool: gate }, explanationSchema),
  ).toMatchObject({ running: 1, waiting: 1 });
  await writeFile(opener, '');
  expect(await Promise.all(calls)).toEqual([undefined, undefined]);
  expect((await report('odd')).stderr_tail).toContain('end of noise');
  expect(JSON.stringify(await ask(observer, { op: 'servers' }))).not.toContain('end of noise');

  const manage = async (op: string) =>
    (await askData(operator, { op, server: 'counter' }, serverReplySchema)).server;
  const { pid } = await report('counter');
  expect(await manage('stop')).toMatchObject({ name: 'counter', state: 'stopped', pids: [] });
  expect(await callError(reader, echo)).toMatchObject({
    code: 'mcp_server_unreachable',
    may_have_run: false,
  });
  expect(await manage('start')).toMatchObject({ state: 'ready' });
  expect(await callError(reader, echo)).toBeUndefined();
  const reloaded = await manage('reload');
  expect(reloaded.state).toBe('ready');
  expect(reloaded.pid).not.toBe(pid);
  expect(await ask(operator, { op: 'reload', server: 'conter' })).toEqual({
    error: {
      code: 'invalid_arguments',
      message: "field 'server': there is no server 'conter'",
      category: 'validation',
      retryable: false,
      may_have_run: false,
      hint: "The most similar server is 'counter'.",
    },
  });
  const audited = async (...kinds: AuditEntryKind[]) =>
    (await readAudit(operator, { since: 0, kinds, limit: 1000 })).entries;
  await expect
    .poll(async () => (await audited('change')).filter(({ code }) => code === 'server_changed'))
    .toMatchObject([
      { agent: 'operator', name: 'counter', detail: 'stop', outcome: 'ok', reported_by: 'orchestrator' },
      { agent: 'operator', name: 'counter', detail: 'start', outcome: 'ok' },
      { agent: 'operator', name: 'counter', detail: 'reload', outcome: 'ok' },
      { agent: 'operator', name: 'conter', detail: 'reload', outcome: 'invalid_arguments' },
    ]);
  const refused = (await audited('refusal')).filter(({ code }) => code === 'call_refused');
  expect(refused).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        agent: 'rita',
        role: 'reader',
        name: 'reload',
        outcome: 'permission_denied',
      }),
      expect.objectContaining({ agent: 'operator.watch', role: 'observer', name: 'stop' }),
      expect.objectContaining({ agent: 'operator.watch', name: echo, rule: 'an observer uses no tool' }),
    ]),
  );
  // Everybody may ask for the list of the own role, and many do: that is no news.
  expect(await ask(reader, { op: 'manifest', as_role: 'reader' })).toHaveProperty('manifest.tools.length', 1);
  expect(await ask(reader, { op: 'manifest', as_role: 'guest' })).toMatchObject({
    error: { code: 'permission_denied' },
  });
  expect(await ask(operator, { op: 'manifest', as_role: 'guest' })).toHaveProperty('manifest.tools', []);
  await expect.poll(async () => (await audited('read')).map(({ name }) => name)).toContain('manifest');
  const read = await audited('read');
  expect(read).toContainEqual(
    expect.objectContaining({ agent: 'operator.watch', code: 'calls_read', name: 'servers' }),
  );
  expect(read.filter(({ name }) => name === 'manifest')).toEqual([
    expect.objectContaining({ agent: 'operator', detail: 'tools of role guest', outcome: 'ok' }),
  ]);
});

test('a hidden tool runs for those who know its name and may call it, and shows up nowhere', async () => {
  await using stack = await startOperatedFleet();
  const { operator, reader } = stack;
  expect(await callError(reader, 'mcp_quiet__echo')).toBeUndefined();
  expect(await callError(reader, 'mcp_quiet__count')).toMatchObject({ code: 'permission_denied' });
  const manifest = await ask(operator, { op: 'manifest' });
  expect(JSON.stringify(manifest)).not.toContain('mcp_quiet');
  const worker = await stack.executor('rosa', 'reader');
  expect(worker.findTool('mcp_quiet__echo')).toBeUndefined();
  const quiet = await worker.execute({ name: 'mcp_quiet__echo', arguments: { x: 1 } });
  expect(quiet.result?.structuredContent).toEqual({ x: 1 });
  const refused = await worker.execute({ name: 'mcp_quiet__count' });
  expect(refused.error?.code).toBe('permission_denied');
  const find = async (client: typeof reader, query: string, limit?: number) => {
    const found = await askData(client, { op: 'search', query, ...(limit && { limit }) }, searchReplySchema);
    return found.tools.map(({ name }) => name);
  };
  expect(await find(operator, 'returns arguments')).toEqual(expect.arrayContaining([echo]));
  expect(JSON.stringify(await find(operator, 'quiet echo', 50))).not.toContain('mcp_quiet');
  expect(await find(operator, 'chart')).toEqual(['mcp_odd__vendor']);
  // A role finds only what it may call.
  expect(await find(reader, 'chart')).toEqual([]);
  expect(await find(reader, 'echo count vendor')).toEqual([echo]);
  expect(await find(operator, 'mcp', 2)).toHaveLength(2);
  expect(await ask(reader, { op: 'search', query: '' })).toMatchObject({
    error: { code: 'invalid_arguments', message: expect.stringContaining("field 'query'") },
  });
  const { servers } = await askData(operator, { op: 'discover' }, discoveryReplySchema);
  const odd = servers.find(({ server }) => server === 'odd');
  expect(odd).toEqual({
    server: 'odd',
    tools: [
      { name: 'announce', as: 'mcp_odd__announce' },
      { name: 'vendor', as: 'mcp_odd__vendor', description: 'Draws a chart.' },
    ],
  });
});

test('explain names the rule that decides, and what else would keep a call from its tool', async () => {
  await using stack = await startOperatedFleet({
    repeat: { safe: ['mcp_counter__count'], never: ['mcp_odd__vendor'] },
  });
  const { operator } = stack;
  const explain = (role: string, tool: string) =>
    askData(operator, { op: 'explain', role, tool }, explanationSchema);
  const idle = { state: 'ready', circuit: 'closed', running: 0, waiting: 0 };
  const allowed = 'the role may call this tool';
  const known = ['repeated reply', 'kept result', 'lost call', 'record', 'hold'];
  const stepsBeforeAllowlist = known.map((step) => expect.objectContaining({ step, verdict: 'passes' }));
  expect(await explain('reader', echo)).toEqual({
    tool: echo,
    role: 'reader',
    allowed: true,
    steps: [
      ...stepsBeforeAllowlist,
      { step: 'allowlist', verdict: 'passes', says: allowed, rule: "roles.reader.tools: 'mcp_counter__e*'" },
      { step: 'arguments', verdict: 'depends', says: expect.any(String) },
      { step: 'approval', verdict: 'passes', says: 'no rule asks a person' },
      { step: 'budget', verdict: 'passes', says: 'no budget limits the calls of this role' },
      { step: 'queue', verdict: 'passes', says: expect.stringContaining('0 run and 0 wait now') },
      { step: 'recheck', verdict: 'passes', says: expect.any(String) },
      {
        ...{ step: 'journal', verdict: 'passes', rule: 'its server declares readOnlyHint' },
        says: expect.stringContaining('safe to repeat'),
      },
      { step: 'host', verdict: 'passes', says: 'server counter is ready, and its circuit is closed' },
    ],
    exists: true,
    hidden: false,
    server: 'counter',
    ...idle,
    matches: 1,
  });
  expect(await explain('reader', 'mcp_quiet__echo')).toMatchObject({
    allowed: true,
    exists: true,
    hidden: true,
  });
  expect(await explain('reader', 'mcp_counter__count')).toEqual({
    tool: 'mcp_counter__count',
    role: 'reader',
    allowed: false,
    steps: [
      ...stepsBeforeAllowlist,
      {
        ...{ step: 'allowlist', verdict: 'refused', says: expect.stringContaining('is not allowed') },
        rule: 'roles.reader.tools: no pattern matches',
      },
    ],
    exists: true,
    hidden: false,
    server: 'counter',
    ...idle,
    matches: 1,
  });
  expect(await explain('guest', 'mcp_odd__vendor')).toEqual(
    explained('allowlist', { verdict: 'refused', rule: 'roles.guest.tools: empty list' }),
  );
  const listed = [
    await explain('builder', 'mcp_odd__vendor'),
    await explain('builder', 'mcp_counter__count'),
  ];
  expect(listed).toEqual([
    explained('lost call', { rule: "neverRepeat: 'mcp_odd__vendor'" }),
    explained('lost call', { rule: "safeToRepeat: 'mcp_counter__count'" }),
  ]);
  expect(await explain('builder', 'mcp_odd__vender')).toEqual({
    tool: 'mcp_odd__vender',
    role: 'builder',
    allowed: true,
    steps: [
      ...stepsBeforeAllowlist,
      {
        ...{ step: 'allowlist', verdict: 'refused', says: "there is no tool 'mcp_odd__vender'" },
        rule: 'unlisted: allow',
      },
    ],
    exists: false,
    hidden: false,
    matches: 0,
    nearest: 'mcp_odd__vendor',
  });
  const before = Date.now();
  await stack.serveTools(
    toolNamed('announce'),
    toolNamed('vendor', { description: 'Draws a better chart.' }),
  );
  expect(await callError(operator, 'mcp_odd__announce')).toBeUndefined();
  await expect
    .poll(async () => (await explain('builder', 'mcp_odd__vendor')).changed_at)
    .toBeGreaterThanOrEqual(before);
  expect(await explain('builder', 'mcp_odd__announce')).not.toHaveProperty('changed_at');
  const { servers } = await askData(operator, { op: 'servers' }, serversReplySchema);
  expect(servers.find(({ name }) => name === 'odd')!.tool_changes).toEqual([
    {
      tool: 'mcp_odd__vendor',
      at: expect.any(Number),
      what: 'changed',
      fields: ['description'],
      before: expect.any(String),
      after: expect.any(String),
    },
  ]);
  const onLinux = process.platform === 'linux' ? expect.any(Number) : undefined;
  expect(servers.find(({ name }) => name === 'counter')!.memory_bytes).toEqual(onLinux);
});
