import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, jsonOf, type Run, signalboxArgv } from '../support/cli/command-line.ts';
import { broker, type Detached, project } from '../support/cli/down.ts';
import { everything } from '../support/hosts/hosts.ts';

const until = String.raw`, until \d\d:\d\d:\d\d at the latest`;

let site: Awaited<ReturnType<typeof project>>;
let started: Run;
let runs = 0;

beforeAll(async () => {
  site = await project({
    broker,
    mcpServers: { everything },
    roles: { tester: { tools: ['everything:*'], ask: ['everything:get-sum'] } },
  });
  started = await site.run('up', '--detach', '--json');
});
afterAll(() => site?.[Symbol.asyncDispose]());

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
  const up = jsonOf(started) as Detached;
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
  expect(started.stderr).toBe('');
  await site.run('token', 'issue', '--agent', 'ines', '--role', 'tester', '--out', 'ines.token');
  const long = ['tools', 'call', 'everything:trigger-long-running-operation', '{"duration":3,"steps":1}'];
  const piped = await site.run(...long, '--token-file', 'ines.token');
  expect(piped).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('completed') });
  const { shown, stdout } = await onTerminal(site.cwd, ...long, '--json', '--token-file', 'ines.token').end();
  expect(shown).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ result: { success: true } });
});

test('Who asks a served program reads that its attempts fail and how, and no question of its own as waiting mail.', async () => {
  const script = '[ -e go ] && echo three || { echo boom; exit 3; }';
  const serve = ['worker', 'serve', '--agent', 'vera', '--role', 'tester', '--json', '--retry-wait', '2s'];
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
  const question = onTerminal(site.cwd, 'ask', 'vera', 'how many?', '--timeout', '2m');
  await question.shows(
    new RegExp(
      `waiting for vera to answer${until}; its last attempt failed, the next is in \\d+ s: its program ended with exit code 3: boom`,
    ),
  );
  writeFileSync(join(site.cwd, 'go'), '');
  const { shown, stdout } = await question.end();
  expect(stdout).toBe('three\n');
  expect(shown).not.toContain('before it');
});

test('Mail that an operator holds back is counted for everybody who looks into the inbox, and operators read what releases it.', async () => {
  await site.run('token', 'issue', '--agent', 'mona', '--role', 'tester', '--out', 'mona.token');
  const mona = (...args: string[]) => site.run('inbox', ...args, '--token-file', 'mona.token');
  const ofMona = (...args: string[]) => site.run('inbox', ...args, '--of', 'mona');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await using ending = new AsyncDisposableStack();
  ending.defer(() => client.close());
  const args = signalboxArgv(['worker', 'mcp', '--token-file', join(site.cwd, 'mona.token')]);
  const options = { command: process.execPath, args, env: cleanEnv(), stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(options));
  const read = async () => {
    const { structuredContent, content } = await client.callTool({ name: 'signalbox_inbox_read' });
    return { data: structuredContent, text: JSON.stringify(content) };
  };
  expect(await mona()).toMatchObject({ stdout: 'no messages are waiting for mona\n' });

  await site.run('hold', '--agent', 'mona', '--reason', 'lunch');
  for (const text of ['one', 'two']) await site.run('send', 'mona', text);
  const told = '2 messages are held back: an operator holds mona, until the release';
  expect((await mona()).stdout).toBe(`${told}\n`);
  expect(jsonOf(await mona('--json'))).toEqual({ messages: [], held_back: 2 });
  expect((await mona('show', 'x')).stderr).toContain(`it may be held back: ${told}`);
  expect((await mona('--wait', '--timeout', '1ms')).stderr).toBe(`${told}\n`);
  expect(jsonOf(await mona('--wait', '--timeout', '1ms', '--json'))).toMatchObject({ held_back: 2 });

  const [held] = (jsonOf(await site.run('holds', '--json')) as { holds: { id: string }[] }).holds;
  const why = `operator holds agent 'mona' since .*: lunch \\(hold ${held!.id}\\)`;
  const release = `Release it: signalbox release ${held!.id}`;
  const listed = await ofMona();
  expect(listed.stdout).toMatch(new RegExp(`2 messages are held back from mona: ${why}\n${release}\n`));
  const json = jsonOf(await ofMona('--json')) as { messages: { id: string }[] };
  expect(json).toMatchObject({ messages: [{}, {}], held_back: 2, holds: [held] });
  const shown = await site.run('inbox', 'show', json.messages[0]!.id, '--of', 'mona');
  expect(shown.stderr).toMatch(new RegExp(`mona is held: ${why}\n${release}\n`));

  // The mailbox takes the inbox, and commands after it do so if they are told to.
  const held2 = await read();
  expect(held2).toMatchObject({ data: { messages: [], held_back: 2 } });
  expect(held2.text).toContain('Held back: 2. An operator holds you; they come after the release.');
  const kept = await mona('--take');
  expect(kept.stderr).toContain('another process reads the inbox of mona: worker mcp; nothing was taken');
  expect((await mona('--take', '--take-over')).stdout).toBe(`${told}\n`);
  expect(jsonOf(await mona('--take', '--json'))).toEqual({ messages: [], held_back: 2 });
  await site.run('release', held!.id);
  // The newest of both are shown.
  expect(jsonOf(await site.run('audit', 'change', '--limit', '1', '--json'))).toMatchObject({
    entries: [{ code: 'hold_released' }],
    more: true,
  });
  expect(jsonOf(await site.run('history', '--limit', '1', '--json'))).toMatchObject({
    groups: [{ entries: [{ id: json.messages[1]!.id }] }],
    more: true,
  });
  expect((await ofMona()).stdout).toContain('2 messages, still waiting.\n');
  expect(jsonOf(await ofMona('--json'))).not.toHaveProperty('held_back');
  expect((await read()).data).toMatchObject({ messages: [{ body: 'one' }, { body: 'two' }] });
  expect((await read()).data).not.toHaveProperty('held_back');

  await site.run('token', 'issue', '--agent', 'nils', '--role', 'tester', '--out', 'nils.token');
  const asked = await client.callTool({
    name: 'signalbox_ask_agent',
    arguments: { to: 'nils', text: 'x', timeout_s: 1 },
  });
  expect(JSON.stringify(asked.content)).toMatch(
    /no answer came in time, .*nils has never connected, so perhaps nobody reads the question\. Do not ask again;/,
  );
});

test('Who asks an agent that works on something else reads that it is busy.', async () => {
  await site.run('token', 'issue', '--agent', 'emil', '--role', 'tester', '--out', 'emil.token');
  const echo = ['worker', 'echo', '--delay', '1h', '--json', '--token-file', 'emil.token'];
  const working = spawn(process.execPath, signalboxArgv(echo), { cwd: site.cwd, env: cleanEnv() });
  const ended = once(working, 'close');
  await once(working.stdout, 'data');
  const told = once(working.stdout, 'data');
  await site.run('send', 'emil', 'first', '--kind', 'task');
  await told;
  const busy = async () => (await site.run('ps')).stdout;
  await expect.poll(busy, { interval: 200, timeout: 20_000 }).toMatch(/^emil .* working 1 /m);
  const question = onTerminal(site.cwd, 'ask', 'emil', 'second', '--timeout', '2m');
  await question.shows(new RegExp(`waiting for emil to answer${until}; emil is busy`));
  // It answers at once what it has when it ends.
  working.kill();
  await ended;
  expect((await question.end()).stdout).toBe('second\n');
});
