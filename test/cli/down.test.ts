import { readFileSync, statSync, writeFileSync } from 'node:fs';
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
