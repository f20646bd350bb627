import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnv, jsonOf, signalboxArgv } from '../support/cli/command-line.ts';
import { broker, type Detached, project } from '../support/cli/down.ts';
import { everything } from '../support/hosts/hosts.ts';

const until = String.raw`, until \d\d:\d\d:\d\d at the latest`;

let runs = 0;

/** Runs a command as a person does: on a terminal, with its output in a file. */
function onTerminal(cwd: string, ...args: string[]) {
  const file = join(cwd, `output-${++runs}`);
  const words = [process.execPath, ...signalboxArgv(args)].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `exec ${words} > '${file}'`, '/dev/null'], {
    cwd,
    env: cleanEnv({}),
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = once(child, 'close');
  return {
    shows: (text: RegExp) => expect.poll(() => shown, { timeout: 20_000 }).toMatch(text),
    async end() {
      await ended;
      return { shown, stdout: readFileSync(file, 'utf8') };
    },
  };
}

test('A person at a terminal reads what a command waits for and until when, beside a result that stays alone.', async () => {
  await using site = await project({
    broker,
    mcpServers: { everything },
    roles: { tester: { tools: ['everything:*'], ask: ['everything:get-sum'] } },
  });
  const up = jsonOf(await site.run('up', '--detach', '--json')) as Detached;
  for (const agent of ['rosa', 'walt'])
    await site.run('token', 'issue', '--agent', agent, '--role', 'tester', '--out', `${agent}.token`);
  const rosa = (...args: string[]) => onTerminal(site.cwd, ...args, '--token-file', 'rosa.token');
  const echo = ['tools', 'call', 'everything:echo', '{"message":"x"}', '--timeout', '2m'];

  const asking = rosa('tools', 'call', 'everything:get-sum', '{"a":1,"b":2}');
  await asking.shows(new RegExp(`waiting for approval (\\w+) \\(signalbox approvals\\)${until}`));
  const [waiting] = (jsonOf(await site.run('approvals', '--json')) as { approvals: { id: string }[] })
    .approvals;
  await site.run('approve', waiting!.id);
  expect((await asking.end()).stdout).toMatch(/^The sum of 1 and 2 is 3\.\n$/);

  await site.run('hold', '--agent', 'rosa', '--reason', 'lunch');
  const held = rosa(...echo);
  await held.shows(
    new RegExp(`waiting for a release: operator holds agent 'rosa' since .*: lunch .*${until}`),
  );
  await site.run('release', '--agent', 'rosa');
  expect((await held.end()).stdout).toBe('Echo: x\n');

  process.kill(up.orchestrator.pid, 'SIGSTOP');
  const away = rosa(...echo);
  await away.shows(new RegExp(`waiting for orchestrator to answer${until}`));
  const listing = onTerminal(site.cwd, 'servers');
  await listing.shows(/waiting for orchestrator to answer/);
  process.kill(up.orchestrator.pid, 'SIGCONT');
  expect((await away.end()).stdout).toBe('Echo: x\n');
  expect((await listing.end()).stdout).toMatch(/^SERVER /);

  const question = rosa('ask', 'walt', 'how many?', '--timeout', '2m');
  await question.shows(new RegExp(`waiting for walt to answer${until}; walt has never connected`));
  const inbox = await site.run('inbox', '--take', '--json', '--token-file', 'walt.token');
  const [asked] = (jsonOf(inbox) as { messages: { id: string; from: { address: string } }[] }).messages;
  const reply = ['--reply-to', asked!.id, '--token-file', 'walt.token'];
  await site.run('send', asked!.from.address, 'three', ...reply);
  expect((await question.end()).stdout).toBe('three\n');
});

test('A script reads nothing of what a command waits for.', async () => {
  await using site = await project({ broker, mcpServers: { everything } });
  const up = await site.run('up', '--detach', '--json');
  expect(up.stderr).toBe('');
  await site.run('token', 'issue', '--agent', 'rosa', '--role', 'tester', '--out', 'rosa.token');
  const long = ['tools', 'call', 'everything:trigger-long-running-operation', '{"duration":3,"steps":1}'];
  const piped = await site.run(...long, '--token-file', 'rosa.token');
  expect(piped).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('completed') });
  const { shown, stdout } = await onTerminal(site.cwd, ...long, '--json', '--token-file', 'rosa.token').end();
  expect(shown).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ result: { success: true } });
});
