import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { listHolds } from '@signalbox/client/operator';
import { parseTokenFile } from '@signalbox/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let researcher: { id: string; env: Record<string, string> };

beforeAll(async () => {
  workspace = await startWorkspace();
  researcher = await workspace.agent('researcher-1', 'researcher');
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test('The matrix shows which role may call which tool, and for which calls a person is asked; only operators see it. Tools have one name for people.', async () => {
  const place = ['--data', 'state'];
  const { code, stdout } = await workspace.run(['tools', 'matrix', '--server', 'files', ...place]);
  expect(code).toBe(0);
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
  expect(lines[0]).toEqual(['TOOL', 'asker', 'clerk', 'researcher', 'sandbox']);
  const row = (tool: string): string[] | undefined => lines.find(([name]) => name === tool);
  expect(row('files:read_file')).toEqual(['files:read_file', 'yes', 'yes', 'yes', '-']);
  expect(row('files:read_multiple_files')).toEqual([
    'files:read_multiple_files',
    'may ask',
    'may ask',
    'yes',
    '-',
  ]);
  expect(row('files:write_file')).toEqual(['files:write_file', '-', '-', '-', '-']);
  expect(stdout).toContain('roles that are not listed may use none');
  const one = jsonOf(await workspace.run(['tools', 'matrix', '--roles', 'clerk', '--json', ...place]));
  expect(one).toMatchObject({ roles: ['clerk'], unlisted: false });
  expect((one as { tools: object[] }).tools).toContainEqual({
    tool: 'mcp_everything__echo',
    server: 'everything',
    own: 'echo',
    may: ['clerk'],
    asks: [],
    may_ask: [],
  });
  for (const [wrong, near] of [
    [['--roles', 'clark'], 'clerk'],
    [['--server', 'file'], 'files'],
  ] as const) {
    const refused = await workspace.run(['tools', 'matrix', ...wrong, ...place]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(near) });
  }
  // A tool that one server has needs no server's name, and is shown with it.
  const held = await workspace.run(['hold', '--tool', 'write_file', '--reason', 'look first', ...place]);
  expect(held).toMatchObject({ code: 0, stdout: expect.stringContaining("'files:write_file'") });
  const released = await workspace.run(['release', '--tool', 'write_file', ...place]);
  expect(released).toMatchObject({ code: 0, stdout: expect.stringContaining("'files:write_file'") });
  // A hold by the names on the wire is shown, found and recorded by those for people.
  const byWire = ['hold', '--tool', 'mcp_files__write_*', '--reason', 'x', ...place];
  expect((await workspace.run(byWire)).stdout).toContain("Tools 'files:write_*' are held");
  expect((await workspace.run(['holds', ...place])).stdout).toContain("tools 'files:write_*'");
  await using operator = await workspace.operator();
  expect(await listHolds(operator)).toMatchObject([{ name: 'mcp_files__write_*' }]);
  expect((await workspace.run(['release', '--tool', 'files:write_*', ...place])).code).toBe(0);
  const audit = (await workspace.run(['audit', ...place])).stdout;
  expect(audit).toMatch(/hold_placed +files:write_\*/);
  expect(audit).not.toContain('mcp_');
  const list = await workspace.run(['tools', 'list', '--role', 'clerk', ...place]);
  expect(list.stdout).toMatch(/^everything:echo /m);
  expect(list.stdout).not.toContain('mcp_');
  const { env } = await workspace.agent('mia', 'researcher');
  expect(await workspace.run(['tools', 'matrix'], env)).toMatchObject({ code: 77, stdout: '' });
});

test('up says where the broker is, what each server brings and what each role may use.', () => {
  expect(workspace.ready.broker.url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/);
  expect(workspace.ready.orchestrator.servers).toEqual([
    { name: 'everything', state: 'ready', tools: expect.any(Number) },
    { name: 'files', state: 'ready', tools: expect.any(Number) },
  ]);
  expect(workspace.ready.orchestrator.roles).toEqual([
    { role: 'researcher', tools: expect.toSatisfy((n: number) => n > 1) },
    { role: 'sandbox', tools: 0 },
    { role: 'clerk', tools: expect.toSatisfy((n: number) => n > 1) },
    { role: 'asker', tools: expect.toSatisfy((n: number) => n > 1) },
  ]);
});

test('tools call gives the whole reply as JSON, and its text to people.', async () => {
  const echo = ['tools', 'call', 'mcp_everything__echo', '{"message":"over the wire"}'];
  const json = await workspace.run([...echo, '--json'], researcher.env);
  expect(json.code).toBe(0);
  expect(jsonOf(json)).toMatchObject({
    result: { success: true, text: expect.stringContaining('over the wire'), content: [{ type: 'text' }] },
  });
  const text = await workspace.run(echo, researcher.env);
  expect(text).toMatchObject({ code: 0, stdout: expect.stringContaining('over the wire'), stderr: '' });
  const path = JSON.stringify({ path: join(workspace.directory, 'files', 'hello.txt') });
  const file = await workspace.run(['tools', 'call', 'mcp_files__read_text_file', path], researcher.env);
  expect(file).toMatchObject({ code: 0, stdout: expect.stringContaining('hello from a file') });
});

test('An ask is answered from a shell by the name of its sender.', async () => {
  const walt = await workspace.agent('walt', 'writer');
  const rosa = await workspace.agent('rosa', 'writer');
  const asked = workspace.run(['ask', 'walt', 'how far?', '--timeout', '60s'], rosa.env);
  await using operator = await workspace.operator();
  const waiting = async () => {
    const { messages } = await operator.admin('history', { since: 0, agent: 'walt', limit: 99 });
    return messages.filter(({ inbox }) => inbox === 'walt');
  };
  await expect.poll(waiting).toHaveLength(1);
  const { id } = (await waiting())[0]!;
  const listed = await workspace.run(['inbox'], walt.env);
  expect(listed.stdout).toMatch(/ ago, \d+ s left /);
  expect(listed.stdout).toContain('Answer an ask or task: signalbox send FROM TEXT --reply-to ID');
  expect(await workspace.run(['send', 'rosa', 'five miles', '--reply-to', id], walt.env)).toMatchObject({
    code: 0,
    // The command that asked waits at an address of its own, and is not said to be away.
    stderr: '',
  });
  expect((await workspace.run(['inbox'], walt.env)).stdout).toBe('no messages are waiting for walt\n');
  expect(await asked).toMatchObject({ code: 0, stdout: 'five miles\n' });

  const made = await workspace.run(['send', 'rosa', 'hi', '--reply-to', 'nosuch'], walt.env);
  expect(made.stderr).toContain("you have no request 'nosuch' of 'rosa'");
  expect(made.stderr).toContain('signalbox inbox lists what waits, with ids and senders');
  expect((await workspace.run(['status'], walt.env)).stderr).toContain(
    "this needs a token of an operator, and yours has the role 'writer'",
  );

  // One that was taken is answered by the line that is printed with it.
  const again = workspace.run(['ask', 'walt', 'and back?', '--timeout', '60s'], rosa.env);
  await expect.poll(waiting).toHaveLength(2);
  const taken = await workspace.run(['inbox', '--take'], walt.env);
  const [, address, last] =
    /Answer it: signalbox send '?(rosa#[^' ]+)'? TEXT --reply-to (\S+)\n\n1 message/.exec(taken.stdout)!;
  expect(await workspace.run(['send', address!, 'as far', '--reply-to', last!], walt.env)).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('the question'),
  });
  expect(await again).toMatchObject({ code: 0, stdout: 'as far\n' });

  // So is one that was taken, by the name of its sender: the answer goes to the address that asked.
  const third = workspace.run(['ask', 'walt', 'and now?', '--timeout', '60s'], rosa.env);
  await expect.poll(waiting).toHaveLength(3);
  const json = jsonOf(await workspace.run(['inbox', '--take', '--json'], walt.env));
  const [asked3] = (json as { messages: { id: string }[] }).messages;
  const wrong = ['send', 'rosa#other', 'home', '--reply-to', asked3!.id];
  const refused = await workspace.run(wrong, walt.env);
  expect(refused.stderr).toMatch(/was asked from '(rosa#[^']+)', .* send it to '\1'/);
  expect(await workspace.run(['send', 'rosa', 'home', '--reply-to', asked3!.id], walt.env)).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(await third).toMatchObject({ code: 0, stdout: 'home\n' });
  expect((await workspace.run(['inbox'], rosa.env)).stdout).toBe('no messages are waiting for rosa\n');
});

test('What an operator was asked is answered from a shell by any operator, once, and the next one is told who did it.', async () => {
  const rosa = await workspace.agent('rosa', 'writer');
  const file = join(workspace.directory, 'alice.token');
  await workspace.run(['token', 'issue', '--operator', '--name', 'alice', '--expires', '1d', '--out', file]);
  const asked = workspace.run(['ask', 'operator', 'go on?', '--timeout', '60s'], rosa.env);
  await using operator = await workspace.operator();
  const waiting = () => operator.peek({ address: 'operator' });
  await expect.poll(waiting).toHaveLength(1);
  const { id } = (await waiting())[0]!;
  const alice = (...args: string[]) => workspace.run([...args, '--token-file', file]);
  expect((await alice('inbox', '--of', 'operator')).stdout).toContain(
    'Answer an ask or task: signalbox send FROM TEXT --reply-to ID --of operator --token-file',
  );
  const reply = ['--reply-to', id, '--of', 'operator'];
  expect((await workspace.run(['status'])).stdout).toMatch(/^questions +1 question waits: signalbox inbox$/m);
  expect((await alice('status')).stdout).toContain(
    '1 question waits for operator: signalbox inbox --of operator\n',
  );
  expect((await workspace.run(['ps'])).stdout).toContain('\n1 question waits: signalbox inbox\n');
  expect(jsonOf(await alice('ps', '--json'))).toMatchObject({
    questions: [{ asked: 'operator', waiting: 1, own: false }],
  });
  expect(await alice('send', 'rosa', 'yes', ...reply)).toMatchObject({ code: 0, stderr: '' });
  expect(await asked).toMatchObject({ code: 0, stdout: 'yes\n' });
  expect(await waiting()).toEqual([]);
  const late = await workspace.run(['send', 'rosa', 'no', '--reply-to', id]);
  expect(late.stderr).toContain("'operator.alice' has answered this already; nothing was sent");

  // The own inbox of an operator may be empty by then.
  const next = workspace.run(['ask', 'operator', 'and now?', '--timeout', '60s'], rosa.env);
  await expect.poll(waiting).toHaveLength(1);
  const taken = await workspace.run(['inbox', '--take']);
  const [, to, last] = /Answer it: signalbox send '?(rosa#[^' ]+)'? TEXT --reply-to (\S+)/.exec(
    taken.stdout,
  )!;
  expect(await workspace.run(['send', 'rosa', 'stop', '--reply-to', last!])).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(await next).toMatchObject({ code: 0, stdout: 'stop\n' });
  expect((await workspace.run(['send', to!, 'no', '--reply-to', last!])).code).not.toBe(0);

  // One that its asker has given up says so.
  expect((await workspace.run(['ask', 'operator', 'and then?', '--timeout', '1s'], rosa.env)).code).toBe(75);
  const { messages } = await operator.admin('history', { since: 0, agent: 'rosa', limit: 99 });
  const given = messages.filter(({ kind }) => kind === 'ask').at(-1)!;
  const over = await workspace.run(['send', 'rosa', 'on', '--reply-to', given.id]);
  expect(over.stderr).toMatch(
    /('rosa' has withdrawn this|the time to answer this is over); nothing was sent/,
  );
});

test('ask prints the answer; one that nobody answers is withdrawn and exits 75.', async () => {
  const token = parseTokenFile(
    await readFile(join(workspace.directory, 'researcher-1.token'), 'utf8'),
  )!.token;
  await using answering = await connectBroker({
    url: workspace.ready.broker.url,
    token,
    agent: 'researcher-1',
  });
  answering.announce({ doing: 'answering' });
  await using _loop = await answering.serve(['ask'], async ({ json }) => ({
    kind: 'reply',
    body: { heard: json },
  }));
  const asker = await workspace.agent('asker-1', 'writer');
  const unknown = await workspace.run(['ask', 'nobody', 'who?', '--config', 'signalbox.yaml']);
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('signalbox token issue --agent nobody --role ROLE makes it known'),
  });
  const ask = await workspace.run(['ask', 'researcher-1', 'how far?', '--json'], asker.env);
  expect(ask.code).toBe(0);
  const there = { connected: 1, reads: true, ever_connected: true };
  expect(jsonOf(ask)).toEqual({ reply: { heard: 'how far?' }, waiting: there });

  const agents = jsonOf(await workspace.run(['agents', '--config', 'signalbox.yaml', '--json'])) as {
    agents: Record<string, unknown>[];
  };
  expect(agents.agents).toContainEqual({
    agent: 'researcher-1',
    address: 'researcher-1',
    role: 'researcher',
    connected_at: expect.any(Number),
    status: { doing: 'answering' },
    inbox: { unread: expect.any(Number), held: expect.any(Number) },
  });
  expect(agents.agents.map(({ agent }) => agent)).toContain('orchestrator');
  expect(agents.agents.map(({ agent }) => agent)).not.toContain('operator');

  await workspace.agent('writer-9', 'writer');
  const silent = await workspace.run(
    ['ask', 'writer-9', 'anyone?', '--timeout', '300ms', '--json'],
    asker.env,
  );
  expect(silent.code).toBe(75);
  const away = { connected: 0, reads: false, ever_connected: false };
  expect(jsonOf(silent)).toMatchObject({ error: { code: 'timed_out', retryable: true, waiting: away } });
  await workspace.run(['hold', '--agent', 'writer-9', '--reason', 'too fast', '--config', 'signalbox.yaml']);
  const sent = await workspace.run(['send', 'writer-9', 'look', '--config', 'signalbox.yaml']);
  expect(sent.code).toBe(0);
  expect(sent.stderr).toMatch(
    /writer-9 has never connected\nwriter-9 is held: operator holds agent 'writer-9' .*: too fast /,
  );
});
