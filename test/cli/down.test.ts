import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { broker, type Detached, namedToolsServer, processesOn, project } from '../support/cli/down.ts';
import { isRunning } from '../support/processes.ts';

const plain = { command: process.execPath, args: [namedToolsServer, 'look'] };

test('up --detach returns when all is ready, and down ends it with all its processes; a second one of each says what there is.', async () => {
  const a2a = { listen: '127.0.0.1:0', agents: { walt: { description: 'waits' } }, roles: ['outside'] };
  const roles = { tester: { tools: ['*'] }, outside: { tools: [] } };
  await using site = await project({ broker, a2a, roles, mcpServers: { plain } });
  expect(await site.run('down')).toMatchObject({ code: 0, stdout: `nothing runs on ${site.data}\n` });

  const up = jsonOf(await site.run('up', '--detach', '--json')) as Detached;
  expect(up).toMatchObject({ log: join(site.data, 'up.log'), orchestrator: { tools: 1 } });
  expect([up.pid, up.broker.pid, up.orchestrator.pid].map(isRunning)).toEqual([true, true, true]);
  expect(readFileSync(up.log, 'utf8')).toContain('broker_ready');
  expect(statSync(up.log).mode & 0o777).toBe(0o600);
  expect((await site.run('tools', '--json')).stdout).toContain('mcp_plain__look');

  // A second process of each kind names the first one, says since when it runs, and what to do.
  const kept = `runs already, on ${site.data} (signalbox up, process ${up.pid}, since `;
  for (const [program, words] of Object.entries({
    'the broker of ': ['broker'],
    'an orchestrator': ['orchestrator'],
    'a bridge to clients of A2A': ['a2a', 'serve', '--listen', '127.0.0.1:0'],
    [`the broker of ${join(site.cwd, 'signalbox.yaml')}`]: ['up', '--detach'],
  })) {
    const second = await site.run(...words);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(new RegExp(`^signalbox: ${program}`, 'm'));
    expect(second.stderr).toContain(kept);
    expect(second.stderr).toContain(`end it: signalbox down --data ${site.data}`);
    expect(second.stderr).not.toContain('database is locked');
  }

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

test('In a folder without a configuration, commands are about the broker of this user and say so, but not for an agent.', async () => {
  await using site = await project({ broker });
  rmSync(join(site.cwd, 'signalbox.yaml'));
  const env = { HOME: site.cwd, XDG_STATE_HOME: join(site.cwd, 'state-home') };
  const run = (args: string[], more = {}) => signalbox(args, { cwd: site.cwd, env: { ...env, ...more } });
  const data = join(env.XDG_STATE_HOME, 'signalbox');
  expect(await run(['status'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no token to connect with'),
  });
  await using ending = new AsyncDisposableStack();
  ending.defer(async () => void (await run(['down'])));
  await run(['up', '--detach', '--listen', '127.0.0.1:0']);
  const listed = await run(['token', 'list']);
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('operator') });
  expect(listed.stderr).toMatch(`this is about the broker on ${data}: there is no signalbox.yaml here`);
  const agents = await run(['token', 'list'], { SIGNALBOX_AGENT: 'rosa' });
  expect(agents).toMatchObject({ code: 2, stderr: expect.stringContaining('no token to connect with') });
  expect((await run(['down'])).stdout).toContain(`ended signalbox up on ${data}`);
});
