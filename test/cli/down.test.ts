import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { broker, type Detached, namedToolsServer, processesOn, project } from '../support/cli/down.ts';
import { isRunning } from '../support/processes.ts';

const plain = { command: process.execPath, args: [namedToolsServer, 'look'] };

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
  // Another project that means the same data directory ends nothing by mistake.
  writeFileSync(join(site.cwd, 'other.yaml'), `broker: { data: ${JSON.stringify(site.data)} }\n`);
  expect(await site.run('down', '--config', 'other.yaml')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/runs .*signalbox\.yaml, not .*other\.yaml\n.*signalbox down --data /),
  });
  expect(running.every(isRunning)).toBe(true);
  const ended = jsonOf(await site.run('down', '--json')) as { ended: number[] };
  expect(ended.ended).toEqual(expect.arrayContaining([up.pid, up.broker.pid, up.orchestrator.pid]));
  expect([up.pid, ...running].filter(isRunning)).toEqual([]);
  expect(await site.run('down', '--data', './state')).toMatchObject({ code: 0 });
});

test('up --detach tells a person which servers start and which fail meanwhile, or that there is no configuration.', async () => {
  const broken = { command: process.execPath, args: ['-e', 'process.exit(3)'] };
  await using site = await project({ broker, mcpServers: { plain, broken } });
  const up = await site.run('up', '--detach');
  expect(up.stdout).toMatch(/^signalbox up is ready, as process /);
  expect(up.stderr).toMatch(/^starting 2 MCP servers from .*signalbox\.yaml: plain, broken …\n/);
  expect(up.stderr).toContain('\nbroken failed to start: ');
  await site.run('down');

  rmSync(join(site.cwd, 'signalbox.yaml'));
  const bare = await site.run('up', '--detach', '--data', './state', '--listen', '127.0.0.1:0');
  expect(bare.stderr).toMatch(/^running without MCP servers: there is no signalbox\.yaml here, .*\n$/);
  expect(await site.run('down', '--data', './state')).toMatchObject({ code: 0 });
});
