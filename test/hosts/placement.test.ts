import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOrchestrator } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { jsonOf, startDaemon } from '../support/cli/command-line.ts';
import { everything, startSite } from '../support/hosts/hosts.ts';

test('On one machine, a file says which of two orchestrators hosts a server, and both follow its changes.', async () => {
  await using site = await startSite({
    mcpServers: { near: everything, far: { ...everything, host: 'lab', definitions: 'pin' } },
    roles: { artist: { tools: ['near:echo', 'far:echo', 'later:echo'] } },
  });
  const { directory, run } = site.hub;
  const { operator } = site;
  const servers = async () => (await queryOrchestrator(operator, 'orchestrator', { op: 'servers' })).servers;
  const stateOf = async (name: string) => (await servers()).find((one) => one.name === name)?.state;
  const args = ['orchestrator', '--config', 'signalbox.yaml', '--host', 'lab'];
  await using lab = await startDaemon(args, { cwd: directory });
  expect(lab.ready).toMatchObject({ servers: [expect.objectContaining({ name: 'far', state: 'ready' })] });
  await expect.poll(() => stateOf('far'), { timeout: 30_000 }).toBe('ready');
  // The process of the server is that of the other orchestrator.
  expect(await servers()).toEqual([
    expect.objectContaining({ name: 'near', pids: [expect.any(Number)] }),
    expect.objectContaining({ name: 'far', host: 'lab', pids: [] }),
  ]);
  const { definitions } = jsonOf(
    await run(['servers', 'pins', 'far', '--json', '--config', 'signalbox.yaml']),
  ) as { definitions: { state: string }[] };
  expect(new Set(definitions.map(({ state }) => state))).toEqual(new Set(['pinned']));
  const client = await site.client('rosa', 'artist');
  const echo = await client.callTool({ name: 'mcp_far__echo', arguments: { message: 'far' } });
  expect(echo.content).toEqual([{ type: 'text', text: expect.stringContaining('far') }]);
  // Both hops go over lanes, once they are open: no message is stored.
  const storedBy = async () => {
    const call = client.callTool({ name: 'mcp_far__echo', arguments: { message: 'again' } });
    const before = (await operator.admin('history', { since: 0, limit: 100 })).messages.length;
    await call;
    return (await operator.admin('history', { since: 0, limit: 100 })).messages.length - before;
  };
  await expect.poll(storedBy, { timeout: 20_000 }).toBe(0);
  const file = join(directory, 'signalbox.yaml');
  const { mcpServers, ...rest } = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(
    file,
    JSON.stringify({ ...rest, mcpServers: { ...mcpServers, later: { ...everything, host: 'lab' } } }),
  );
  await expect.poll(() => stateOf('later'), { timeout: 30_000 }).toBe('ready');
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  await expect.poll(names, { timeout: 10_000 }).toContain('mcp_later__echo');
});

test('config check names a server with two places, and a label that is none.', async () => {
  await using site = await startSite({ roles: {} });
  const check = async (config: object) => {
    await writeFile(join(site.hub.directory, 'wrong.yaml'), JSON.stringify(config));
    return await site.hub.run(['config', 'check', '--config', 'wrong.yaml']);
  };
  const twice = await check({ mcpServers: { far: everything }, hosts: { lab: ['far'] } });
  expect(twice.code).not.toBe(0);
  expect(twice.stderr + twice.stdout).toContain(
    "mcpServers runs it here; take 'far' out of one of the two places",
  );
  const label = await check({ mcpServers: { far: { ...everything, host: 'My Lab' } } });
  expect(label.stderr + label.stdout).toContain('mcpServers.far.host: must be lower-case letters');
  const right = await check({
    mcpServers: { far: { host: 'lab', definitions: 'pin' } },
    hosts: { lab: ['far'] },
  });
  expect(right).toMatchObject({ code: 0 });
  const args = ['orchestrator', '--config', 'wrong.yaml', '--host', 'gpu', '--data', './state'];
  const other = await site.hub.run(args);
  expect(other.stderr).toContain('no server of');
});
