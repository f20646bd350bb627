import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolProvider } from '@signalbox/mcp-host/tool-calls';
import type { Tool } from '@signalbox/protocol';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, jsonResult, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer, npmServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('applies a new configuration: what is the same keeps its process, calls on the rest may finish', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'count');
  const [same, gone] = [misbehavingServer(), counterServer(file)];
  const servers = {
    same,
    gone,
    other: { ...same, timeoutMs: 60_000 },
    late: { ...same, command: '/no/such' },
  };
  await using host = startTestHost({ servers });
  const before = await host.inventory();
  const pidOf = (name: string) => host.servers().find((server) => server.name === name)?.pid;
  const [samePid, gonePid, otherPid] = ['same', 'gone', 'other'].map(pidOf) as [number, number, number];
  const running = call(host, 'mcp_gone__gate', { file: join(dir.path, 'open') });
  await vi.waitFor(() => expect(readCounter(file)).toHaveLength(1));
  const told: string[][] = [];
  host.onInventoryChanged(({ tools }) => told.push(tools.map(({ name }) => name)));

  const next = {
    other: { timeoutMs: 50_000, ...same },
    late: misbehavingServer(),
    fresh: misbehavingServer(),
    same: { ...same, args: [...same.args!] },
  };
  const waiting = call(host, 'mcp_late__note', { text: 'in time' });
  const changes = await host.apply(next);
  expect(changes).toEqual({ added: ['fresh'], removed: ['gone'], changed: ['other', 'late'] });
  expect(jsonResult(await waiting)).toMatchObject({ notes: ['in time'] });
  expect(host.servers().map(({ name, state }) => [name, state])).toEqual([
    ['other', 'ready'],
    ['late', 'ready'],
    ['fresh', 'ready'],
    ['same', 'ready'],
  ]);
  expect(pidOf('same')).toBe(samePid);
  expect(pidOf('other')).not.toBe(otherPid);
  await vi.waitFor(() => expect(isRunning(otherPid)).toBe(false));
  expect(await call(host, 'mcp_gone__echo')).toMatchObject({ error: { code: 'tool_not_found' } });
  expect(isRunning(gonePid)).toBe(true);
  await writeFile(join(dir.path, 'open'), '');
  expect(await running).toHaveProperty('result');
  await vi.waitFor(() => expect(isRunning(gonePid)).toBe(false));

  // Never without the tools of the server that was only replaced.
  const kept = before.tools.map(({ name }) => name).filter((name) => !name.includes('gone'));
  expect(told.length).toBeGreaterThan(0);
  for (const names of told) expect(names).toEqual(expect.arrayContaining(kept));
  const bad = host.apply({ web: { type: 'http', url: 'nowhere' } });
  await expect(bad).rejects.toMatchObject({ code: 'bad_config', message: expect.stringContaining("'web'") });
  expect(host.servers()).toHaveLength(4);
});

it('starts servers besides the configuration if the guard lets it, and stops, starts and reloads them by name', async () => {
  const asks: string[] = [];
  await using host = startTestHost({
    servers: { base: { ...misbehavingServer(), lazy: true, keepAliveMs: 0 } },
    guard: (name, config) => {
      asks.push(name);
      return config.type === 'stdio' && config.command === 'rm' ? 'rm is no server' : undefined;
    },
  });
  await host.inventory();
  await expect(host.spawn('evil', { type: 'stdio', command: 'rm' })).rejects.toMatchObject({
    code: 'spawn_refused',
    message: expect.stringContaining('rm is no server'),
  });
  await expect(host.spawn('base', misbehavingServer())).rejects.toMatchObject({ code: 'bad_config' });
  await expect(host.spawn('', misbehavingServer())).rejects.toMatchObject({ code: 'bad_config' });
  await host.spawn('extra', misbehavingServer());
  expect(asks).toEqual(['evil', 'extra']);
  const { pid } = jsonResult(await call(host, 'mcp_extra__note', { text: 'one' })) as { pid: number };

  expect(await host.apply({})).toEqual({ added: [], removed: ['base'], changed: [] });
  expect(await host.reload('extra')).toMatchObject({ state: 'ready', instances: 1 });
  const reloaded = jsonResult(await call(host, 'mcp_extra__note', { text: 'two' })) as { pid: number };
  expect(reloaded).toMatchObject({ notes: ['two'] });
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false));

  expect(await host.stop('extra')).toMatchObject({ state: 'stopped', instances: 0, pids: [] });
  expect(isRunning(reloaded.pid)).toBe(false);
  expect(await call(host, 'mcp_extra__note')).toMatchObject({
    error: {
      code: 'mcp_server_unreachable',
      retryable: false,
      hint: expect.stringContaining('signalbox servers start extra'),
    },
  });
  expect(await host.start('extra')).toMatchObject({ state: 'ready', toolCount: 8 });
  expect(jsonResult(await call(host, 'mcp_extra__note', { text: 'three' }))).toMatchObject({
    notes: ['three'],
  });

  for (const verb of ['start', 'stop', 'reload'] as const) {
    await expect(host[verb]('extrra')).rejects.toMatchObject({
      code: 'server_not_found',
      message: expect.stringContaining("did you mean 'extra'"),
    });
  }
});

it('calls a tool with the arguments that were checked, or not at all if its present definition would rewrite them', async () => {
  const tool = (days: Record<string, unknown>): Tool => ({
    name: 'weather',
    inputSchema: { type: 'object', properties: { days } },
  });
  let tools = [tool({ type: ['integer', 'string'] })];
  let changed = () => {};
  const provider: ToolProvider = {
    name: 'files',
    tools: () => tools,
    problems: () => [],
    secrets: () => [],
    call: async (_tool, args) => ({ result: { content: [], structuredContent: args } }),
    onChanged: (listener) => {
      changed = listener;
      return () => {};
    },
  };
  await using host = startTestHost({ servers: {}, providers: [provider] });
  await host.inventory();
  const route = host.route('weather');
  const read = host.check(route, { days: '3' });
  if (!read || 'error' in read) throw new Error('the arguments do not fit');
  const sent = { result: { structuredContent: { days: '3' } } };
  expect(await call(host, 'weather', read.args, { fits: read.fits })).toMatchObject(sent);
  tools = [tool({ type: 'string', maxLength: 9 })];
  changed();
  expect(await call(host, 'weather', read.args, { fits: read.fits })).toMatchObject(sent);
  tools = [tool({ type: 'integer' })];
  changed();
  expect(await call(host, 'weather', read.args, { fits: read.fits })).toMatchObject({
    error: { code: 'invalid_arguments', may_have_run: false, message: expect.stringContaining('changed') },
  });
  expect(host.check(route, { days: '3' })).toEqual({ args: { days: 3 }, fits: tools[0] });
  expect(await call(host, 'weather', { days: '3' })).toMatchObject({
    result: { structuredContent: { days: 3 } },
  });
});

it('lists what every server lists, disabled, hidden and unreachable ones and other sources too', async () => {
  const tools: Tool[] = [{ name: 'weather', inputSchema: { type: 'object' } }];
  let changed = () => {};
  const provider: ToolProvider = {
    name: 'files',
    tools: () => [...tools],
    problems: () => [{ message: 'x.yaml is broken' }],
    secrets: () => [],
    call: async (tool, args) => ({ result: { content: [], structuredContent: { tool, args } } }),
    onChanged: (listener) => {
      changed = listener;
      return () => {};
    },
  };
  await using host = startTestHost({
    servers: {
      hidden: { ...npmServer('everything'), toolDiscovery: false },
      off: { ...misbehavingServer(), disabled: true },
      gone: { type: 'stdio', command: '/no/such/program' },
      personal: { ...misbehavingServer(), share: 'worker', lazy: true },
    },
    providers: [provider],
    random: () => 1,
  });
  const inventory = await host.inventory();
  expect(inventory.tools.map(({ name }) => name)).toContain('weather');
  expect(inventory.tools.filter(({ name }) => /hidden|off/.test(name))).toEqual([]);
  expect(inventory.hidden.map(({ name }) => name)).toContain('mcp_hidden__get-sum');
  expect(inventory.problems).toEqual([
    { server: 'gone', message: expect.stringContaining('ENOENT') },
    { server: 'personal', tool: 'bad', message: expect.any(String) },
    { server: 'files', message: 'x.yaml is broken' },
  ]);
  expect(await call(host, 'mcp_hidden__get-sum', { a: 2, b: 3 })).toHaveProperty('result');
  expect(await call(host, 'weather', { in: 'Rome' })).toMatchObject({
    result: { structuredContent: { tool: 'weather', args: { in: 'Rome' } } },
  });
  expect(host.route('weather')).toMatchObject({ server: 'files' });
  expect(host.servers()[1]).toMatchObject({ name: 'off', state: 'disabled', instances: 0 });
  expect(await host.stop('off')).toMatchObject({ state: 'disabled' });
  await expect(host.start('off')).rejects.toMatchObject({ code: 'server_disabled' });

  await vi.waitFor(() => expect(host.servers()[3]).toMatchObject({ state: 'idle', instances: 0 }));
  const found = await host.discover();
  expect(found.map(({ server, error, tools: { length } }) => [server, error ?? '', length])).toEqual([
    ['hidden', '', inventory.hidden.length],
    ['off', expect.stringContaining('disabled'), 0],
    ['gone', expect.stringContaining('ENOENT'), 0],
    ['personal', '', 8],
    ['files', '', 1],
  ]);
  expect(found[3]!.tools[0]).toMatchObject({ name: 'note', as: 'mcp_personal__note' });
  expect(host.events.filter(({ event }) => event === 'server_ready').length).toBe(3);

  const next = new Promise((resolve) => host.onInventoryChanged(resolve));
  tools.push({ name: 'tides', inputSchema: { type: 'object' } });
  changed();
  expect(await next).toMatchObject({ tools: expect.arrayContaining([tools[1]]) });
});
