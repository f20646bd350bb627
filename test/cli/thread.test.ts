import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { forgetThread, issueToken, listThreads, readAudit, readThread } from '@signalbox/client/operator';
import { startTestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { cleanEnv, jsonOf, type Run, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { startRun } from '../support/runner/worker-run.ts';

let workspace: Workspace;
let operator: BrokerClient;
let served: AsyncDisposable;
let ann: { env: Record<string, string> };
// An operator who names the data directory needs no configuration, which takes a command a third more processor time.
const place = ['--data', 'state'];

/** A credential as the documents of its issuer describe it, made up. */
const credential = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2)}`.slice(0, 40);

/** The broker keeps bodies. bob is a program of one turn, which calls a hosted tool through an MCP client that isn't ours. */
beforeAll(async () => {
  workspace = await startWorkspace(() => {
    const config = JSON.parse(everythingText());
    return JSON.stringify({ ...config, broker: { ...config.broker, keepBodies: true } });
  });
  ann = await workspace.agent('ann', 'researcher');
  operator = await workspace.operator();
  const program = fileURLToPath(new URL('../support/serve/caller-main.ts', import.meta.url));
  const mcp = signalboxArgv(['worker', 'mcp']);
  const argv = [process.execPath, program, process.execPath, ...mcp];
  const serving = ['--agent', 'bob', '--role', 'researcher', '--json', '--config', 'signalbox.yaml'];
  const { XDG_RUNTIME_DIR: runtime = '' } = process.env;
  const env = { XDG_RUNTIME_DIR: runtime, XDG_STATE_HOME: join(workspace.directory, 'home') };
  const run = startRun([...serving, '--', ...argv], { cwd: workspace.directory, env, part: 'serve' });
  served = run;
  await vi.waitFor(() => expect(run.events().map(({ event }) => event)).toContain('serving'), {
    timeout: 60_000,
  });
});
afterAll(async () => {
  await operator?.close();
  await served?.[Symbol.asyncDispose]();
  await workspace?.[Symbol.asyncDispose]();
});

async function connect(agent: string, { SIGNALBOX_TOKEN_FILE: file = '' }: Record<string, string>) {
  const [token = ''] = (await readFile(file, 'utf8')).split('\n');
  return await connectBroker({ url: workspace.ready.broker.url, token, agent: requestAddress(agent) });
}

/** Sends a note of ann as `signalbox send` does, which other tests are about. */
async function say(to: string, body: string, more: { id?: string; thread?: string }): Promise<void> {
  await using client = await connect('ann', ann.env);
  await client.deliver({ to, kind: 'note', body, ...more });
}

const thread = (args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
  workspace.run(['thread', ...args, ...place], env);

/** Reads the audit log. Returns the codes and names of an agent in it. */
async function audited(): Promise<(agent: string) => (string | undefined)[][]> {
  const { entries } = await readAudit(operator, { since: 0, limit: 1000 });
  return (agent) => entries.filter((one) => one.agent === agent).map(({ code, name }) => [code, name]);
}

test('A thread is read as a transcript: who said what, and which tools were called in between, also after kill -9 of the broker.', async () => {
  const question = `Where are the notes?\n${credential}`;
  const asked = await workspace.run(['ask', 'bob', question, '--thread', 'plan'], ann.env);
  expect(asked).toMatchObject({ code: 0 });
  process.kill(workspace.ready.broker.pid, 'SIGKILL');
  // The orchestrator, which knows of the calls, comes back a moment after the broker.
  const read = () => readThread(operator, 'orchestrator', { thread: 'plan', limit: 9 });
  await expect
    .poll(() => read().then(({ entries }) => entries.map(({ what }) => what), String))
    .toContain('call');
  const { stdout } = await thread(['plan']);
  expect(stdout.split('\n').map((line) => line.replace(/^\d\d:\d\d:\d\d/, 'TIME').trimEnd())).toEqual([
    expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    expect.stringMatching(/^TIME {2}ann → bob {2}ask {2}\S+$/),
    '  | Where are the notes?',
    '  | [redacted]',
    expect.stringMatching(/^TIME {4}bob called everything:echo: ok, /),
    // The kill may come before the asker has confirmed its answer, which then waits until it expires.
    expect.stringMatching(/^TIME {2}bob → ann\S* {2}reply (\(pending\))? {1,2}re:\S+$/),
    '  | Echo: Where are the notes?',
    '  | [redacted]',
    '',
  ]);
  const json = jsonOf(await thread(['plan', '--json'])) as { entries: Record<string, unknown>[] };
  expect(json.entries.map(({ what, body }) => [what, body])).toEqual([
    ['message', 'Where are the notes?\n[redacted]'],
    ['call', undefined],
    ['message', 'Echo: Where are the notes?\n[redacted]'],
  ]);
});

test('Threads are found by agent and by words, page by page, and are forgotten for good.', async () => {
  for (const [to, text, name] of [
    ['ann', 'Release notes are ready', 'one'],
    ['ann', 'An unrelated matter', 'two'],
    ['operator', 'the third', 'three'],
  ] as const)
    await say(to, text, { thread: name });
  const namesOf = ({ threads }: { threads: { thread: string }[] }) => threads.map((one) => one.thread);
  const found = async (query: { agent?: string; search?: string }): Promise<string[]> =>
    namesOf(await listThreads(operator, { ...query, limit: 9 }));
  const printed = async (...args: string[]) =>
    jsonOf(await thread([...args, '--json'])) as { threads: { thread: string }[]; cursor: number };
  expect((await found({})).slice(0, 3)).toEqual(['three', 'two', 'one']);
  expect(await found({ search: 'note releas' })).toEqual(['one']);
  expect(await found({ search: 'nothing' })).toEqual([]);
  expect(await found({ agent: 'operator' })).toEqual(['three']);
  expect(namesOf(await printed('--agent', 'bob', '--search', 'notes'))).toEqual(['plan']);
  const page = await printed('--limit', '1');
  expect(namesOf(page)).toEqual(['three']);
  expect(namesOf(await printed('--limit', '1', '--cursor', String(page.cursor)))).toEqual(['two']);
  expect(await thread(['one', '--forget'])).toMatchObject({
    code: 0,
    stdout: "1 message of thread 'one' forgotten\n",
  });
  expect(await found({ search: 'release' })).toEqual([]);
  // The message itself waits on, and is taken as ever.
  const taken = await workspace.run(['inbox', '--take'], ann.env);
  expect(taken.stdout).toContain('Release notes are ready');
  expect(await thread(['one'])).toMatchObject({ code: 1, stderr: expect.stringContaining("thread 'one'") });
});

test('Operators read bodies, observers see sizes, agents nothing, and the audit log has each use.', async () => {
  const secret = 'only for bob to read';
  await say('operator', secret, { thread: 'private' });
  const file = join(workspace.directory, 'observer.token');
  const { token } = await issueToken(operator, { agent: 'operator.olga', role: 'observer' });
  await writeFile(file, token, { mode: 0o600 });
  const olga = { SIGNALBOX_TOKEN_FILE: file };
  const listed = await thread(['--json'], olga);
  const { stdout } = await thread(['private'], olga);
  expect(stdout).toMatch(/ann → operator {2}note.*\n {2}\d+ B/);
  expect(listed.stdout + stdout).not.toContain('for bob');
  {
    await using observer = await connect('operator.olga', olga);
    const refused = { code: 'forbidden' };
    await expect(listThreads(observer, { search: 'only', limit: 1 })).rejects.toMatchObject(refused);
    await expect(forgetThread(observer, 'private')).rejects.toMatchObject(refused);
  }
  expect(await workspace.run(['thread', 'private'], ann.env)).toMatchObject({ code: 77, stdout: '' });
  const of = await audited();
  expect(of('operator.olga')).toContainEqual(['threads_read', 'private']);
  expect(of('operator')).toContainEqual(['thread_forgotten', 'one']);
  expect(of('ann').map(([code]) => code)).toContain('forbidden');
});

test('An observer with read-bodies reads and searches texts, and changes nothing; no role gives that, and no minted or agent token has it.', async () => {
  await say('operator', 'for readers alone', { thread: 'readers' });
  const file = join(workspace.directory, 'reader.token');
  const issue = (...args: string[]): Promise<Run> =>
    workspace.run(['token', 'issue', '--operator', '--name', 'rita', ...args, ...place]);
  const reading = ['--permissions', 'observer', '--read-bodies'];
  expect(await issue(...reading, '--out', file)).toMatchObject({ code: 0 });
  expect(await issue('--read-bodies')).toMatchObject({ code: 2 });
  for (const agent of ['rita', 'ci-*']) {
    const args = ['token', 'issue', '--agent', agent, '--role', 'researcher', '--read-bodies', ...place];
    expect(await workspace.run(args), agent).toMatchObject({ code: 2, stdout: '' });
  }
  const rita = { SIGNALBOX_TOKEN_FILE: file };
  expect((await thread(['readers'], rita)).stdout).toContain('| for readers alone');
  await using reader = await connect('operator.rita', rita);
  const { threads } = await listThreads(reader, { search: 'readers', limit: 9 });
  expect(threads.map(({ newest }) => newest.text)).toEqual(['for readers alone']);
  await expect(forgetThread(reader, 'readers')).rejects.toMatchObject({ code: 'forbidden' });
  expect(await workspace.run(['inbox', '--of', 'operator', ...place], rita)).toMatchObject({ code: 1 });
  expect((await audited())('operator.rita')).toContainEqual(['threads_read', 'readers']);
  const { entries } = await readAudit(operator, { since: 0, limit: 1000 });
  const issued = entries.filter(({ code, name }) => code === 'token_issued' && name === 'operator.rita');
  expect(issued.map(({ detail }) => detail)).toEqual([expect.stringContaining('(it reads bodies)')]);
});

test('History has the first line of each text for operators alone, and folds the messages of a call; -v shows them.', async () => {
  const said = `What is new?\n${credential}`;
  await say('operator', said, { id: 'line-1', thread: 'lines' });
  await workspace.run(['tools', 'call', 'everything:echo', '{"message":"x"}'], ann.env);
  const history = async (...args: string[]): Promise<string> =>
    (await workspace.run(['history', '--since', '10m', ...args, ...place])).stdout;
  const plain = await history();
  expect(plain).toMatch(/^TIME +FROM +TO +WHAT +OUTCOME +TEXT +ID$/m);
  expect(plain).toMatch(/ann +operator +note in lines .* What is new\? +line-1$/m);
  expect(plain).toMatch(/T.*Z +ann +everything +call everything:echo/);
  expect(plain).not.toMatch(/mcp_request|mcp_reply|ghp_/);
  const verbose = await history('-v');
  expect(verbose).toMatch(/mcp_request/);
  const json = await history('--json');
  expect(json).toContain('"text":"What is new?\\n[redacted]"');
  const file = join(workspace.directory, 'observer.token');
  const olga = await workspace.run(['history', ...place], { SIGNALBOX_TOKEN_FILE: file });
  expect(olga).toMatchObject({ code: 0, stdout: expect.not.stringContaining('What is new') });
});

test('tail --bodies shows the beginning of each text below its message, without credentials, to those who may read it.', async () => {
  const child = spawn(process.execPath, signalboxArgv(['tail', '--bodies', ...place]), {
    cwd: workspace.directory,
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  await expect.poll(() => shown).toContain('following');
  await say('operator', `Mind the gap\n${credential}`, { id: 'gap' });
  await expect.poll(() => shown).toMatch(/text {7}gap {2}Mind the gap/);
  child.kill('SIGINT');
  await once(child, 'close');
  expect(shown.indexOf('stored')).toBeLessThan(shown.indexOf('Mind the gap'));
  expect(shown).not.toContain('ghp_');
  const file = join(workspace.directory, 'observer.token');
  const olga = await workspace.run(['tail', '--bodies', ...place], { SIGNALBOX_TOKEN_FILE: file });
  expect(olga).toMatchObject({ code: 77, stdout: '' });
});

test('Operators read the messages that wait for an agent, and these stay where they are; other agents are refused.', async () => {
  const carl = await workspace.agent('carl', 'researcher');
  await say('carl', 'only for carl', { id: 'c1' });
  const of = (args: string[], env = {}): Promise<Run> =>
    workspace.run(['inbox', ...args, '--of', 'carl', ...(args.includes('--take') ? [] : place)], env);
  for (const args of [[], ['show', 'c1']])
    expect(await of(args)).toMatchObject({ code: 0, stdout: expect.stringContaining('only for carl') });
  expect(await workspace.run(['inbox', '--of', 'carl'], ann.env)).toMatchObject({ code: 1, stdout: '' });
  const sub = await workspace.run(['inbox', '--of', 'carl#mcp-x7', ...place]);
  expect(sub).toMatchObject({ code: 0, stdout: 'no messages are waiting for carl#mcp-x7\n' });
  const told = await workspace.run(['tail', '--agent', 'carl#mcp-x7', ...place]);
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining('Write the agent: carl.') });
  expect(await of(['--take'], ann.env)).toMatchObject({ code: 2, stdout: '' });
  const taken = await workspace.run(['inbox', '--take'], carl.env);
  expect(taken.stdout).toContain('only for carl');
});

test('doctor, which writes a message and reads it back, leaves no thread behind.', async () => {
  expect((await workspace.run(['doctor', '--no-servers', ...place])).stdout).toMatch(/written and read back/);
  expect(await listThreads(operator, { search: 'doctor', limit: 1 })).toMatchObject({ threads: [] });
});

test('Without broker.keepBodies nothing is kept, and the command says how to keep it.', async () => {
  await using broker = await startTestBroker();
  expect(
    await signalbox(['thread', '--data', broker.dataDir], { env: { SIGNALBOX_URL: broker.url } }),
  ).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('keepBodies: true'),
  });
});

test('The answer to a task that a command sent comes to the inbox of its agent.', async () => {
  const sent = await workspace.run(['send', 'bob', 'count them', '--kind', 'task', '--id', 'count'], ann.env);
  expect(sent).toMatchObject({ code: 0 });
  const stored = async () =>
    (await operator.admin('history', { since: 0, newest_first: true, limit: 9 })).messages.map(
      ({ id }) => id,
    );
  await expect.poll(stored).toContain('re:count');
  expect(jsonOf(await workspace.run(['inbox', '--json'], ann.env))).toMatchObject({
    messages: expect.arrayContaining([
      expect.objectContaining({ kind: 'reply', id: 're:count', to: 'ann', body: 'Echo: count them' }),
    ]),
  });
});
