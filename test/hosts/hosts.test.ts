import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { connectBroker } from '@signalbox/client';
import {
  listApprovals,
  listHolds,
  placeHold,
  queryOrchestrator,
  readAudit,
  releaseHolds,
} from '@signalbox/client/operator';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { everything, listed, type Site, startSite } from '../support/hosts/hosts.ts';

const long = 'trigger-long-running-operation';
let site: Site;
let client: Client;

beforeAll(async () => {
  site = await startSite({
    mcpServers: { here: everything },
    orchestrator: { neverRepeat: [`render:${long}`] },
    hosts: { gpu: ['render', 'paint'], lab: ['scope'] },
    roles: {
      artist: {
        tools: ['here:echo', 'render:*', 'scope:*'],
        prompts: ['render:*'],
        resources: ['render:*'],
        ask: ['render:get-sum'],
      },
      reader: { tools: ['here:echo'] },
    },
  });
  await site.host('gpu', { render: everything, other: everything });
  client = await site.client('rosa', 'artist');
});
afterAll(() => site?.[Symbol.asyncDispose]());

const report = () => queryOrchestrator(site.operator, 'orchestrator', { op: 'servers' });

const hub = async (...args: string[]): Promise<unknown> =>
  jsonOf(await site.hub.run([...args, '--json', '--config', 'signalbox.yaml']));

test('An agent sees the tools of two machines in one list and one search, and calls those of both.', async () => {
  const names = await listed(client, 'mcp_render__echo');
  const ofServers = names.filter((name) => name.startsWith('mcp_'));
  expect(ofServers).toEqual(ofServers.toSorted());
  expect(names).toContain('mcp_here__echo');
  expect(names.filter((name) => name.includes('other'))).toEqual([]);
  const near = await client.callTool({ name: 'mcp_here__echo', arguments: { message: 'near' } });
  expect(near.content).toEqual([{ type: 'text', text: expect.stringContaining('near') }]);
  const far = await client.callTool({ name: 'mcp_render__echo', arguments: { message: 'far' } });
  expect(far.content).toEqual([{ type: 'text', text: expect.stringContaining('far') }]);
  const found = await queryOrchestrator(site.operator, 'orchestrator', { op: 'search', query: 'echo' });
  expect(found.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['mcp_here__echo', 'mcp_render__echo']),
  );
  const { tools } = (await hub('tools', 'matrix')) as { tools: { tool: string; may: string[] }[] };
  expect(tools.find(({ tool }) => tool === 'mcp_render__echo')?.may).toEqual(['artist']);
});

test('A role without a tool of another machine gets no call of it through.', async () => {
  const reader = await site.client('walt', 'reader');
  expect(await listed(reader, 'mcp_here__echo')).not.toContain('mcp_render__echo');
  const refused = await reader
    .callTool({ name: 'mcp_render__echo', arguments: { message: 'x' } })
    .catch((error: unknown) => ({ isError: true, content: String(error) }));
  expect(JSON.stringify(refused)).toMatch(/is not allowed for role/);
});

test('Progress, prompts and resources come from another machine, too.', async () => {
  const steps: number[] = [];
  await client.callTool(
    { name: `mcp_render__${long}`, arguments: { duration: 0.3, steps: 3 } },
    { onprogress: ({ progress }) => steps.push(progress) },
  );
  expect(steps).toContain(1);
  const { prompts } = await client.listPrompts();
  const prompt = prompts.find(({ name }) => name.includes('simple'));
  expect((await client.getPrompt({ name: prompt!.name })).messages.length).toBeGreaterThan(0);
  const { resources } = await client.listResources();
  const [resource] = resources.filter(({ uri }) => uri.startsWith('demo://'));
  expect((await client.readResource({ uri: resource!.uri })).contents.length).toBeGreaterThan(0);
});

test('A server of another machine asks its caller in the middle of a call, and goes on with the answer.', async () => {
  const asked: string[] = [];
  const asking = await site.client('iris', 'artist', (of) => {
    of.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message);
      return { action: 'decline' as const };
    });
  });
  const name = 'mcp_render__trigger-elicitation-request';
  await listed(asking, name);
  const result = await asking.callTool({ name, arguments: {} });
  expect(asked).toEqual([expect.stringContaining('render')]);
  expect(JSON.stringify(result.content)).toMatch(/declin/i);
});

test('Operators see where a server is, which host is away since when, and what was refused.', async () => {
  const { servers, hosts } = (await hub('servers')) as { servers: unknown[]; hosts: unknown[] };
  expect(servers).toContainEqual(
    expect.objectContaining({ name: 'render', host: 'gpu', transport: 'remote', state: 'ready' }),
  );
  // A name that its host never had is no fault.
  expect(servers).toContainEqual(
    expect.objectContaining({ name: 'paint', state: 'not_offered', restarts: 0 }),
  );
  const status = (await site.hub.run(['status', '--config', 'signalbox.yaml'])).stdout;
  expect(status).toMatch(/paint +not_offered/);
  expect(status.split('degraded:')[1]).not.toContain('paint');
  expect(hosts).toEqual([
    { host: 'gpu', servers: ['render', 'paint'], refused: ['other'] },
    { host: 'lab', servers: ['scope'], away_since: expect.any(Number), never_seen: true },
  ]);
  const text = (await site.hub.run(['servers', '--config', 'signalbox.yaml'])).stdout;
  expect(text).toContain(
    'host gpu serves other, which hosts.gpu of the configuration does not name: refused',
  );
  expect(text).toMatch(/host lab has not been seen since \d{4}-.*, with the tools of scope/);
});

test('A call of another machine that waits for a person names its host, and runs there once it is approved.', async () => {
  const calling = client.callTool({ name: 'mcp_render__get-sum', arguments: { a: 19, b: 23 } });
  const pending = async () => (await listApprovals(site.operator, 'orchestrator', { limit: 9 })).approvals;
  await expect.poll(pending, { timeout: 20_000 }).toHaveLength(1);
  const [approval] = await pending();
  expect(approval).toMatchObject({ host: 'gpu', server: 'render', tool: 'mcp_render__get-sum' });
  const shown = await site.hub.run(['approvals', 'show', approval!.id, '--config', 'signalbox.yaml']);
  expect(shown.stdout).toContain('gpu, where the tool runs');
  await hub('approve', approval!.id);
  expect((await calling).content).toEqual([{ type: 'text', text: expect.stringContaining('42') }]);
  const rows = async () => (await readAudit(site.operator, { since: 0, limit: 1000 })).entries;
  const codes = ['call_proposed', 'approval_decided', 'call_started', 'call_ended'];
  for (const code of codes) {
    const row = { code, name: 'mcp_render__get-sum', server: 'render', host: 'gpu' };
    await expect.poll(rows, { timeout: 10_000 }).toContainEqual(expect.objectContaining(row));
  }
  const near = (await rows()).find((row) => 'server' in row && row.server === 'here');
  expect(near).not.toHaveProperty('host');
  const printed = await site.hub.run(['audit', 'all', '--config', 'signalbox.yaml']);
  expect(printed.stdout).toMatch(/ok after .* on render \(host gpu\)/);
});

test('A hold on everything makes calls of another machine wait, and does not take its host away.', async () => {
  await placeHold(site.operator, { on: 'all', reason: 'look first' });
  const held = client.callTool({ name: 'mcp_render__echo', arguments: { message: 'held' } });
  await expect.poll(report).toMatchObject({ calls_held: 1 });
  const holds = await listHolds(site.operator);
  await releaseHolds(site.operator, { ids: holds.map(({ id }) => id) });
  expect((await held).content).toEqual([{ type: 'text', text: expect.stringContaining('held') }]);
});

test('The token of a host serves its label and answers, and the broker refuses everything else.', async () => {
  const { url } = site.hub.ready.broker;
  const text = await readFile(join(site.hub.directory, 'gpu.host.token'), 'utf8');
  const token = /sbx_\S+/.exec(text)![0];
  // Without its label it is refused before there are files that a later start would miss.
  await using elsewhere = await tempDir();
  const file = join(elsewhere.path, 'gpu.token');
  await writeFile(file, token);
  const start = ['orchestrator', '--url', url, '--token-file', file, '--data', join(elsewhere.path, 'state')];
  expect(await signalbox(start, { cwd: elsewhere.path })).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('--host LABEL'),
  });
  expect(await readdir(elsewhere.path)).toEqual(['gpu.token']);
  for (const agent of ['orchestrator', 'orchestrator.lab', 'rosa'])
    await expect(connectBroker({ url, token, agent })).rejects.toMatchObject({ code: 'forged_sender' });
  await using host = await connectBroker({ url, token, agent: 'orchestrator.gpu#look' });
  await expect(host.deliver({ to: 'rosa', kind: 'note', body: {} })).rejects.toMatchObject({
    code: 'forbidden',
  });
  await expect(host.checkTokens({ agents: ['rosa'] })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(host.audit('b1', [])).rejects.toMatchObject({
    code: expect.stringMatching(/forbidden|bad_frame/),
  });
  expect(await host.listConnected()).toEqual([]);
  expect((await host.findRecipient('rosa')).connections).toEqual([]);
  // It sees its own connections, so that one that ends knows whether another one takes over.
  const own = (await host.findRecipient('orchestrator.gpu')).connections.map(({ address }) => address);
  expect(own.toSorted()).toEqual(['orchestrator.gpu', 'orchestrator.gpu#look']);
  const { env } = await site.hub.agent('eve', 'artist');
  const eve = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  await using worker = await connectBroker({ url, token: eve, agent: 'eve#x' });
  const body = { op: 'call', tool: 'get-sum', arguments: { a: 1, b: 2 }, hosted: { server: 'render' } };
  for (const [to, code] of [
    ['orchestrator.gpu', 'forbidden'],
    ['orchestrator', 'permission_denied'],
  ] as const) {
    const outcome = await worker.request(to, 'mcp_request', body, { timeoutMs: 10_000 });
    expect(JSON.stringify(outcome.status === 'completed' ? outcome.reply.json : outcome)).toContain(code);
  }
});

test('While a host is away, a call says so with since when, the rest goes on, and its tools come back with it.', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const args = { duration: 60, steps: 60 };
  const running = client.callTool(
    { name: `mcp_render__${long}`, arguments: args },
    { onprogress: () => begin() },
  );
  running.catch(() => {});
  await begun;
  await site.stopHost('gpu', 'SIGKILL');
  const since = async () => (await report()).hosts?.[0]?.away_since;
  await expect.poll(since, { timeout: 40_000 }).toEqual(expect.any(Number));
  const refused = await client.callTool({ name: 'mcp_render__echo', arguments: { message: 'there?' } });
  const when = new Date((await since())!).toISOString();
  expect(JSON.stringify(refused)).toContain(`host 'gpu' has been away since ${when}`);
  const near = await client.callTool({ name: 'mcp_here__echo', arguments: { message: 'near' } });
  expect(near.isError).toBeFalsy();
  await site.host('gpu', { render: everything });
  // The rule that a call is made once is ours, and its start is in the journal of the host.
  expect(JSON.stringify(await running)).toContain('outcome_unknown');
  const back = async () =>
    (await client.callTool({ name: 'mcp_render__echo', arguments: { message: 'back' } })).isError ?? false;
  await expect.poll(back, { timeout: 30_000 }).toBe(false);
});

test('An operator reloads a server of another machine, which is started again there.', async () => {
  const counter = join(site.hub.directory, 'scope.jsonl');
  await site.host('lab', { scope: { ...counterServer(counter), concurrency: 1 } });
  await listed(client, 'mcp_scope__gate');
  await client.callTool({ name: 'mcp_scope__count', arguments: {} });
  expect(await hub('servers', 'reload', 'scope')).toMatchObject({
    server: { name: 'scope', state: 'ready' },
  });
  await client.callTool({ name: 'mcp_scope__count', arguments: {} });
  expect(new Set(readCounter(counter).map(({ pid }) => pid)).size).toBe(2);
  const missing = await site.hub.run(['servers', 'reload', 'paint', '--config', 'signalbox.yaml']);
  expect(missing.stderr).toContain("this orchestrator hosts no server 'paint'");
});

test('A host that is stopped answers the call that runs, refuses the one that waits, and is away when it has ended.', async () => {
  const begun = () => readCounter(join(site.hub.directory, 'scope.jsonl')).slice(4);
  const file = join(site.hub.directory, 'gate');
  const running = client.callTool({ name: 'mcp_scope__gate', arguments: { file } });
  await expect.poll(() => begun().length, { timeout: 20_000 }).toBe(1);
  const waiting = client.callTool({ name: 'mcp_scope__count', arguments: {} });
  const stopped = site.stopHost('lab', 'SIGTERM');
  expect(JSON.stringify(await waiting)).toMatch(
    /it is being stopped, and takes no calls|has been away since/,
  );
  await writeFile(file, '');
  expect((await running).isError).toBeFalsy();
  await stopped;
  const endedAt = Date.now();
  // It is known at once: the call is not sent, to wait for an orchestrator that does not come.
  const refused = await client.callTool({ name: 'mcp_scope__count', arguments: {} });
  const [, since = ''] = /host 'lab' has been away since (\S+Z)/.exec(JSON.stringify(refused)) ?? [];
  expect(Date.parse(since)).toBeLessThanOrEqual(endedAt);
  expect(begun().map(({ tool }) => tool)).toEqual(['gate', 'gate']);
});
