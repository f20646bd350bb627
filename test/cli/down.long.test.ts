import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, startDaemon } from '../support/cli/command-line.ts';
import { broker, type Detached, namedToolsServer, processesOn, project } from '../support/cli/down.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { gatedServer } from '../support/mcp-host/gated-server.ts';
import { isRunning } from '../support/processes.ts';

const plain = { command: process.execPath, args: [namedToolsServer, 'look'] };

test('up --detach that does not become ready fails as up does, and leaves nothing behind.', async () => {
  await using site = await project({ broker, worker: { http: '203.0.113.1:7421' } });
  const refused = await site.run('up', '--detach', '--insecure', '--json');
  expect(refused.code).toBe(1);
  expect(jsonOf(refused)).toMatchObject({ error: { log: join(site.data, 'up.log') } });
  expect(processesOn(site.data)).toEqual([]);
  await writeFile(join(site.cwd, 'signalbox.yaml'), JSON.stringify({ broker, mcpServers: 1 }));
  const wrong = await site.run('up', '--detach', '--json');
  expect(wrong.code).toBe(2);
  expect(jsonOf(wrong)).toMatchObject({ error: { code: 'bad_config' } });
});

test('After kill -9 of a detached up, down waits for what it left, and up starts on its data.', async () => {
  await using site = await project({ broker, mcpServers: { plain } });
  const up = jsonOf(await site.run('up', '--detach', '--json')) as Detached;
  const children = processesOn(site.data);
  process.kill(up.pid, 'SIGKILL');
  expect((await site.run('down')).code).toBe(0);
  expect(children.filter(isRunning)).toEqual([]);
  const again = await site.run('up', '--detach');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(`log    ${up.log}`) });
});

test('down ends an up in a terminal, also with a broken configuration, and no broker that was started without up.', async () => {
  await using workspace = await startWorkspace(() => JSON.stringify({ broker }));
  await writeFile(join(workspace.directory, 'signalbox.yaml'), JSON.stringify({ broker, roles: 7 }));
  const ended = await workspace.run(['down']);
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining(`process ${workspace.up.pid}`) });
  expect(await workspace.up.ended).toBe(0);

  await using alone = await startDaemon([
    'broker',
    '--data',
    `${workspace.directory}/alone`,
    '--listen',
    '127.0.0.1:0',
  ]);
  const left = await workspace.run(['down', '--data', 'alone']);
  expect(left.code).toBe(1);
  expect(left.stderr).toContain(`kill ${alone.pid}`);
  expect(isRunning(alone.pid)).toBe(true);
});

test('up --detach names the addresses for clients of A2A, and warns of no role by annotations while servers start.', async () => {
  await using dir = await tempDir();
  const { open: _, ...gated } = gatedServer(join(dir.path, 'gate'));
  await using site = await project({
    broker,
    orchestrator: { definitions: 'pin' },
    mcpServers: { gated },
    a2a: { listen: '127.0.0.1:0', agents: { rosa: { description: 'answers' } }, roles: ['outside'] },
    roles: {
      outside: { tools: [], send: { to: ['rosa'], kinds: ['ask'] } },
      reader: { tools: [{ annotations: 'readOnly' }] },
    },
  });
  const up = await site.run('up', '--detach');
  expect(up.stdout).toContain('not ready: gated');
  expect(up.stdout).toMatch(/agent ready for clients of A2A at http:\/\/127\.0\.0\.1:\d+\/a2a\/rosa\n/);
  expect(readFileSync(join(site.data, 'up.log'), 'utf8')).not.toContain('matches no tool');
});

test('up --detach tells a person which servers start and which fail meanwhile, or that there is no configuration.', async () => {
  const broken = { command: process.execPath, args: ['-e', 'process.exit(3)'] };
  await using site = await project({ broker, mcpServers: { plain, broken } });
  const up = await site.run('up', '--detach');
  expect(up.stdout).toMatch(/^signalbox up is ready, as process .*, 1 tool from 1 of 2 MCP servers\n/);
  expect(up.stdout).toMatch(/\n {2}not ready: broken; see: signalbox servers/);
  expect(up.stderr).toMatch(/^starting 2 MCP servers from .*signalbox\.yaml: plain, broken …\n/);
  expect(up.stderr).toContain('\nbroken failed to start: ');
  await site.run('down');

  const exposing = { broken: { ...broken, args: [...broken.args, './signalbox.yaml'] } };
  writeFileSync(join(site.cwd, 'signalbox.yaml'), JSON.stringify({ broker, mcpServers: exposing }, null, 2));
  const none = await site.run('up', '--detach', '--data', './other');
  expect(none.stderr).toMatch(
    /^warning: .*signalbox\.yaml.* not read again .* except at SIGHUP\nstarting 1 MCP/,
  );
  expect(none.stdout).toMatch(/^signalbox up runs, as process .*, its MCP server is not ready\n/);
  // The configuration leads elsewhere.
  const elsewhere = `signalbox down --data ${join(site.cwd, 'other')}`;
  expect(await site.run('down')).toMatchObject({ code: 1, stderr: expect.stringContaining(elsewhere) });
  expect((await site.run('tools', 'list', '--token-file', 'signalbox.yaml')).stderr).toMatch(
    /--out NAME\.token$/m,
  );
  expect(await site.run('down', '--data', './other')).toMatchObject({ code: 0 });

  rmSync(join(site.cwd, 'signalbox.yaml'));
  const bare = await site.run('up', '--detach', '--data', './state', '--listen', '127.0.0.1:0');
  expect(bare.stderr).toMatch(/^running without MCP servers: there is no signalbox\.yaml here, .*\n$/);
  expect(await site.run('down', '--data', './state')).toMatchObject({ code: 0 });
});
