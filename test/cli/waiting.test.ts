import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
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

test('Who asks a served program reads that its attempts fail and how, and no question of its own as waiting mail.', async () => {
  await using site = await project({ broker, roles: { tester: { tools: [] } } });
  await site.run('up', '--detach', '--json');
  const script = '[ -e go ] && echo three || { echo boom; exit 3; }';
  const serve = ['worker', 'serve', '--agent', 'walt', '--role', 'tester', '--json', '--retry-wait', '2s'];
  const serving = spawn(process.execPath, signalboxArgv([...serve, '--', 'sh', '-c', script]), {
    cwd: site.cwd,
    env: cleanEnv({ XDG_STATE_HOME: join(site.cwd, 'state-home') }),
  });
  await using ending = new AsyncDisposableStack();
  const ended = once(serving, 'close');
  ending.defer(async () => {
    serving.kill();
    await ended;
  });
  await once(serving.stdout, 'data');
  const question = onTerminal(site.cwd, 'ask', 'walt', 'how many?', '--timeout', '2m');
  await question.shows(
    new RegExp(
      `waiting for walt to answer${until}; its last attempt failed, the next is in \\d+ s: its program ended with exit code 3: boom`,
    ),
  );
  writeFileSync(join(site.cwd, 'go'), '');
  const { shown, stdout } = await question.end();
  expect(stdout).toBe('three\n');
  expect(shown).not.toContain('before it');
});

test('Mail that an operator holds back is counted for everybody who looks into the inbox, and operators read what releases it.', async () => {
  await using site = await project({ broker, roles: { tester: { tools: [] } } });
  await site.run('up', '--detach', '--json');
  await site.run('token', 'issue', '--agent', 'rosa', '--role', 'tester', '--out', 'rosa.token');
  const rosa = (...args: string[]) => site.run('inbox', ...args, '--token-file', 'rosa.token');
  const ofRosa = (...args: string[]) => site.run('inbox', ...args, '--of', 'rosa');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await using ending = new AsyncDisposableStack();
  ending.defer(() => client.close());
  const args = signalboxArgv(['worker', 'mcp', '--token-file', join(site.cwd, 'rosa.token')]);
  const options = { command: process.execPath, args, env: cleanEnv(), stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(options));
  const read = async () => {
    const { structuredContent, content } = await client.callTool({ name: 'signalbox_inbox_read' });
    return { data: structuredContent, text: JSON.stringify(content) };
  };
  expect(await rosa()).toMatchObject({ stdout: 'no messages are waiting for rosa\n' });

  await site.run('hold', '--agent', 'rosa', '--reason', 'lunch');
  for (const text of ['one', 'two']) await site.run('send', 'rosa', text);
  const told = '2 messages are held back: an operator holds rosa, until the release';
  expect((await rosa()).stdout).toBe(`${told}\n`);
  expect(jsonOf(await rosa('--json'))).toEqual({ messages: [], held_back: 2 });
  expect((await rosa('show', 'x')).stderr).toContain(`it may be held back: ${told}`);
  expect((await rosa('--wait', '--timeout', '1ms')).stderr).toBe(`${told}\n`);
  expect(jsonOf(await rosa('--wait', '--timeout', '1ms', '--json'))).toMatchObject({ held_back: 2 });

  const [held] = (jsonOf(await site.run('holds', '--json')) as { holds: { id: string }[] }).holds;
  const why = `operator holds agent 'rosa' since .*: lunch \\(hold ${held!.id}\\)`;
  const release = `Release it: signalbox release ${held!.id}`;
  const listed = await ofRosa();
  expect(listed.stdout).toMatch(new RegExp(`2 messages are held back from rosa: ${why}\n${release}\n`));
  const json = jsonOf(await ofRosa('--json')) as { messages: { id: string }[] };
  expect(json).toMatchObject({ messages: [{}, {}], held_back: 2, holds: [held] });
  const shown = await site.run('inbox', 'show', json.messages[0]!.id, '--of', 'rosa');
  expect(shown.stderr).toMatch(new RegExp(`rosa is held: ${why}\n${release}\n`));

  // The mailbox takes the inbox, and so do commands after it.
  const held2 = await read();
  expect(held2).toMatchObject({ data: { messages: [], held_back: 2 } });
  expect(held2.text).toContain('Held back: 2. An operator holds you; they come after the release.');
  expect((await rosa('--take')).stdout).toBe(`${told}\n`);
  expect(jsonOf(await rosa('--take', '--json'))).toEqual({ messages: [], held_back: 2 });
  await site.run('release', held!.id);
  expect((await ofRosa()).stdout).toContain('2 messages, still waiting.\n');
  expect(jsonOf(await ofRosa('--json'))).not.toHaveProperty('held_back');
  expect((await read()).data).toMatchObject({ messages: [{ body: 'one' }, { body: 'two' }] });
  expect((await read()).data).not.toHaveProperty('held_back');
});
