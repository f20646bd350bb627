import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inventory } from '@signalbox/mcp-host';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';

async function oddHost(list: { pages: unknown[][]; fail?: boolean }, env: Record<string, string> = {}) {
  const dir = await tempDir();
  const file = join(dir.path, 'list.json');
  const write = (next: typeof list) => writeFile(file, JSON.stringify(next));
  await write(list);
  const host = startTestHost({ servers: { odd: nonstandardServer(file, env) } });
  return {
    host,
    write,
    async [Symbol.asyncDispose]() {
      await host.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function nextChange(host: { onInventoryChanged(l: (i: Inventory) => void): () => void }): Promise<Inventory> {
  return new Promise((resolve) => {
    const stop = host.onInventoryChanged((inventory) => {
      stop();
      resolve(inventory);
    });
  });
}

it('drains every page, keeps unknown fields and quarantines a tool that is none', async () => {
  const odd = toolNamed('vendor', {
    icons: [{ src: 'x', 'x-size': 1 }],
    _meta: { a: { b: 1 } },
    'x-cost': 3,
  });
  await using t = await oddHost({
    pages: [[toolNamed('fail')], [{ name: 'broken', inputSchema: 7 }, odd], [toolNamed('refuse')]],
  });
  const { tools, problems } = await t.host.inventory();
  expect(tools.map(({ name }) => name)).toEqual(['mcp_odd__fail', 'mcp_odd__refuse', 'mcp_odd__vendor']);
  expect(tools[2]).toEqual({ ...odd, name: 'mcp_odd__vendor' });
  expect(problems).toEqual([
    { server: 'odd', tool: 'broken', message: expect.stringContaining('inputSchema') },
  ]);
  expect(await call(t.host, 'mcp_odd__broken')).toMatchObject({ error: { code: 'tool_not_found' } });
});

it('returns a result exactly as the server sent it', async () => {
  await using t = await oddHost({ pages: [[toolNamed('vendor')]] });
  await t.host.inventory();
  expect(await call(t.host, 'mcp_odd__vendor')).toEqual({
    result: {
      content: [
        { type: 'vendor/chart', data: [1, 2] },
        { type: 'text', text: 'x', 'x-mark': 1 },
      ],
      structuredContent: ['not', 'an', 'object'],
      'x-vendor': { deep: [null] },
      _meta: { 'vendor/trace': 'abc' },
    },
  });
});

it('rebuilds when a server announces a change, and tells only of a new version', async () => {
  await using t = await oddHost({ pages: [[toolNamed('announce')]] });
  const before = await t.host.inventory();
  const versions: string[] = [];
  t.host.onInventoryChanged(({ version }) => versions.push(version));
  await call(t.host, 'mcp_odd__announce');

  const changed = nextChange(t.host);
  await t.write({ pages: [[toolNamed('announce'), toolNamed('fail')]] });
  await call(t.host, 'mcp_odd__announce');
  const after = await changed;
  expect(after.tools.map(({ name }) => name)).toEqual(['mcp_odd__announce', 'mcp_odd__fail']);
  expect(versions).toEqual([after.version]);
  expect(after.version).not.toBe(before.version);
});

it('keeps the last good tools when a server fails to list again, and comes back by itself', async () => {
  await using t = await oddHost({ pages: [[toolNamed('announce')]] }, { SERVER_SECRET: 'sekret-value' });
  const before = await t.host.inventory();
  await t.write({ pages: [], fail: true });
  await call(t.host, 'mcp_odd__announce');
  await expect
    .poll(async () => (await t.host.inventory()).problems)
    .toEqual([{ server: 'odd', message: expect.stringContaining('no list today, [redacted]') }]);
  expect((await t.host.inventory()).tools).toEqual(before.tools);
  expect(await call(t.host, 'mcp_odd__announce')).toHaveProperty('result');

  const changed = nextChange(t.host);
  await t.write({ pages: [[toolNamed('fail')]] });
  expect(await changed).toMatchObject({ tools: [{ name: 'mcp_odd__fail' }], problems: [] });
});

it('is not ready while connected to a server that cannot list', async () => {
  await using t = await oddHost({ pages: [], fail: true });
  const { tools, problems } = await t.host.inventory();
  expect({ tools, problems }).toEqual({
    tools: [],
    problems: [{ server: 'odd', message: expect.stringContaining('could not be listed: no list today') }],
  });
  expect(t.host.servers()[0]!.state).not.toBe('ready');
});

it('lets no secret of its configuration out in errors, results and stderr, and nothing of ours into the server', async () => {
  await using t = await oddHost(
    { pages: [[toolNamed('refuse'), toolNamed('environment')]] },
    { SERVER_SECRET: 'sekret-value', SIGNALBOX_TOKEN: 'our-token' },
  );
  await t.host.inventory();
  expect(await call(t.host, 'mcp_odd__refuse')).toMatchObject({
    error: {
      code: 'invalid_arguments',
      message: "server 'odd': bad arguments, [redacted]",
      may_have_run: false,
    },
  });
  const { result } = (await call(t.host, 'mcp_odd__environment')) as {
    result: { content: [{ text: string }] };
  };
  expect(JSON.parse(result.content[0].text)).toMatchObject({
    SERVER_SECRET: '[redacted]',
    PATH: expect.any(String),
  });
  const { SIGNALBOX_SERVER_MARK, ...others } = JSON.parse(result.content[0].text);
  expect(SIGNALBOX_SERVER_MARK).toEqual(expect.any(String));
  expect(JSON.stringify(others)).not.toContain('SIGNALBOX');
  await expect.poll(() => t.host.stderrTail('odd')).toContain('[redacted] end of noise');
  expect(t.host.stderrTail('odd').length).toBeLessThanOrEqual(64 * 1024);
});

it('drops progress that comes with or after the result', async () => {
  await using t = await oddHost({ pages: [[toolNamed('late_progress')]] });
  await t.host.inventory();
  let returned = false;
  const late: number[] = [];
  const outcome = await call(
    t.host,
    'mcp_odd__late_progress',
    {},
    { onProgress: (p) => returned && late.push(p.progress) },
  );
  returned = true;
  expect(outcome).toMatchObject({ result: { content: [{ text: '"done"' }] } });
  await call(t.host, 'mcp_odd__late_progress');
  expect(late).toEqual([]);
});

it('keeps the tools of servers apart whose names sanitise alike', async () => {
  await using dir = await tempDir();
  const [one, two] = [join(dir.path, 'one'), join(dir.path, 'two')];
  await writeFile(one, JSON.stringify({ pages: [[toolNamed('fail')]] }));
  await writeFile(two, JSON.stringify({ pages: [[toolNamed('fail', { description: 'second' })]] }));
  await using host = startTestHost({
    servers: { 'o.d': nonstandardServer(one), 'o-d': nonstandardServer(two) },
  });
  const { tools, problems } = await host.inventory();
  expect(tools.map(({ name }) => name)).toEqual(
    Array(2).fill(expect.stringMatching(/^mcp_o_d__fail_[0-9a-f]{8}$/)),
  );
  expect(problems).toEqual([]);
  for (const tool of tools) {
    expect(host.route(tool.name).target).toMatchObject({
      server: tool.description ? 'o-d' : 'o.d',
      tool: { name: 'fail' },
    });
  }
});

it('refuses a configuration that cannot work', () => {
  const start = (url: string) => () => startTestHost({ servers: { web: { type: 'http', url } } });
  expect(start('file:///etc/passwd')).toThrow(expect.objectContaining({ code: 'bad_config' }));
  expect(start('not a url')).toThrow(expect.objectContaining({ code: 'bad_config' }));
  expect(() => startTestHost({ servers: {}, toolNameMax: 8 })).toThrow(
    expect.objectContaining({ code: 'bad_config' }),
  );
});

it('leaves a giant tool out by name, serves the other tools, and logs what becomes too large later', async () => {
  const giant = (name: string) => toolNamed(name, { description: 'x'.repeat(5 * 1024 * 1024) });
  await using t = await oddHost({ pages: [[toolNamed('announce'), giant('giant')]] });
  const { tools, problems } = await t.host.inventory();
  expect(tools.map(({ name }) => name)).toEqual(['mcp_odd__announce']);
  const why = expect.stringMatching(
    /^left out: its definition takes 5,242,\d{3} bytes, more than 65,536; raise limits.toolBytes of the server$/,
  );
  expect(problems).toEqual([{ server: 'odd', tool: 'giant', message: why }]);
  expect(t.host.servers()[0]).toMatchObject({
    state: 'ready',
    toolCount: 1,
    toolProblems: [{ tool: 'giant', message: why }],
  });
  await t.write({ pages: [[toolNamed('announce'), giant('other')]] });
  expect(await call(t.host, 'mcp_odd__announce')).toHaveProperty('result');
  expect(await t.host.seen('tool_problem')).toMatchObject({ server: 'odd', tool: 'other', reason: why });
});

it('tools that a new configuration leaves out are gone at once, before the server has listed its tools again', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'list.json');
  await writeFile(
    file,
    JSON.stringify({ pages: [[toolNamed('fail'), toolNamed('refuse'), toolNamed('vendor')]] }),
  );
  const odd = nonstandardServer(file);
  await using host = startTestHost({ servers: { odd } });
  expect((await host.inventory()).tools).toHaveLength(3);
  const told: string[][] = [];
  host.onInventoryChanged(({ tools }) => told.push(tools.map(({ name }) => name)));
  const applied = host.apply({ odd: { ...odd, includeTools: ['fail', 're*'], excludeTools: ['refuse'] } });
  expect(told).toEqual([['mcp_odd__fail']]);
  expect(await call(host, 'mcp_odd__vendor')).toMatchObject({ error: { code: 'tool_not_found' } });
  await applied;
  expect(told).toHaveLength(1);
  const discovered = await host.discover();
  expect(discovered.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['fail']]);
});
