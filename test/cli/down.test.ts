import { readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { everyProcess, isRunning } from '../support/processes.ts';

const namedToolsServer = fileURLToPath(new URL('../support/cli/named-tools-server.ts', import.meta.url));
const broker = { listen: '127.0.0.1:0', data: './state' };
const plain = { command: process.execPath, args: [namedToolsServer, 'look'] };

/** A folder with a configuration, whose `up` is ended with it. */
async function project(config: object) {
  await using opened = new AsyncDisposableStack();
  const { path: cwd } = opened.use(await tempDir());
  await writeFile(join(cwd, 'signalbox.yaml'), JSON.stringify(config));
  const run = (...args: string[]) => signalbox(args, { cwd });
  opened.defer(async () => void (await run('down')));
  const resources = opened.move();
  return { cwd, data: join(cwd, 'state'), run, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Lists what runs for a data directory, MCP servers included. */
function processesOn(data: string): number[] {
  const all = everyProcess();
  const ours = all.filter(({ text }) => text.includes(`--data ${data}`)).map(({ pid }) => pid);
  const below = all.filter(({ parent }) => ours.includes(parent)).map(({ pid }) => pid);
  return [...new Set([...ours, ...below])].filter(isRunning);
}

interface Detached {
  pid: number;
  log: string;
  broker: { pid: number };
  orchestrator: { pid: number; tools: number };
}

test('up --detach returns when all is ready, and down ends it with all its processes; a second one of each says what there is.', async () => {
  await using site = await project({ broker, mcpServers: { plain } });
  expect(await site.run('down')).toMatchObject({ code: 0, stdout: `nothing runs on ${site.data}\n` });

  const up = jsonOf(await site.run('up', '--detach', '--json')) as Detached;
  expect(up).toMatchObject({ log: join(site.data, 'up.log'), orchestrator: { tools: 1 } });
  expect([up.pid, up.broker.pid, up.orchestrator.pid].map(isRunning)).toEqual([true, true, true]);
  expect(readFileSync(up.log, 'utf8')).toContain('broker_ready');
  expect(statSync(up.log).mode & 0o777).toBe(0o600);
  expect((await site.run('tools', '--json')).stdout).toContain('mcp_plain__look');

  const second = await site.run('up', '--detach');
  expect(second.code).toBe(1);
  expect(second.stderr).toContain(`signalbox down --data ${site.data}`);

  const running = processesOn(site.data);
  expect(running.length).toBeGreaterThan(3);
  const ended = jsonOf(await site.run('down', '--json')) as { ended: number[] };
  expect(ended.ended).toEqual(expect.arrayContaining([up.pid, up.broker.pid, up.orchestrator.pid]));
  expect([up.pid, ...running].filter(isRunning)).toEqual([]);
  expect(await site.run('down', '--data', './state')).toMatchObject({ code: 0 });

  const again = await site.run('up', '--detach');
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(`log    ${up.log}`) });
});

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
  expect(await site.run('up', '--detach')).toMatchObject({ code: 0 });
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
