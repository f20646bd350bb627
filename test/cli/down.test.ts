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

test('A second broker, orchestrator, bridge or up beside a running up says which process it is, since when, and what to do.', async () => {
  const a2a = { listen: '127.0.0.1:0', agents: { walt: { description: 'waits' } }, roles: ['outside'] };
  await using site = await project({ broker, a2a, roles: { outside: { tools: [] } } });
  const up = jsonOf(await site.run('up', '--detach', '--json')) as Detached;
  const kept = `runs already, on ${site.data} (signalbox up, process ${up.pid}, since `;
  const cure = `end it: signalbox down --data ${site.data}`;
  for (const [program, words] of Object.entries({
    'the broker of ': ['broker'],
    'an orchestrator': ['orchestrator'],
    'a bridge to clients of A2A': ['a2a', 'serve', '--listen', '127.0.0.1:0'],
    [`the broker of ${join(site.cwd, 'signalbox.yaml')}`]: ['up'],
  })) {
    const second = await site.run(...words);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(new RegExp(`^signalbox: ${program}`));
    expect(second.stderr).toContain(kept);
    expect(second.stderr).toContain(cure);
    expect(second.stderr).not.toContain('database is locked');
  }
});
