import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { connectBroker } from '@signalbox/client';
import { decideApproval, listApprovals, queryOrchestrator } from '@signalbox/client/operator';
import type { Approval, Explanation } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { workerTransport } from '../support/cli/worker-mcp.ts';
import { startWorkspace, type Workspace } from '../support/cli/workspace.ts';
import { explained } from '../support/orchestrator/explained-step.ts';

let workspace: Workspace;
let researcher: { id: string; env: Record<string, string> };

beforeAll(async () => {
  workspace = await startWorkspace();
  researcher = await workspace.agent('researcher-1', 'researcher');
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test('Every rule of the configuration is in force from the start, and waits for no reload.', async () => {
  const { env } = await workspace.agent('clerk-1', 'clerk');
  await writeFile(join(workspace.directory, 'files', 'large.txt'), 'x'.repeat(20_000));
  const explain = async (tool: string) =>
    jsonOf(await workspace.run(['tools', 'explain', 'clerk', `mcp_files__${tool}`, '--json']));
  const [resources, prompts, asked, repeated] = await Promise.all([
    workspace.run(['resources', 'list', '--json']),
    workspace.run(['prompts', 'list', '--json']),
    explain('read_multiple_files'),
    explain('read_media_file'),
  ]);
  const document = { uri: expect.stringMatching(/^demo:\/\/resource\/static\//) };
  expect(jsonOf(resources)).toMatchObject({
    resources: expect.arrayContaining([expect.objectContaining(document)]),
    resource_templates: expect.arrayContaining([expect.anything()]),
  });
  const { prompts: every } = jsonOf(prompts) as { prompts: { name: string }[] };
  expect(every.map(({ name }) => name)).toContain('mcp_everything__args-prompt');
  expect(asked).toEqual(explained('approval', { verdict: 'depends', rule: 'roles.clerk.ask[0]' }));
  expect(repeated).toEqual(explained('lost call', { rule: expect.stringContaining('neverRepeat') }));

  const clerk = new Client({ name: 'agent', version: '1.0.0' });
  const transport = workerTransport(env);
  await clerk.connect(transport);
  try {
    const own = { name: 'mcp_everything__completable-prompt' };
    expect((await clerk.listPrompts()).prompts.map(({ name }) => name).toSorted()).toEqual([
      own.name,
      'mcp_everything__simple-prompt',
    ]);
    expect((await clerk.listResources()).resources).toContainEqual(expect.objectContaining(document));
    expect((await clerk.listResourceTemplates()).resourceTemplates).not.toEqual([]);
    const argument = { name: 'department', value: 'E' };
    const { completion } = await clerk.complete({ ref: { type: 'ref/prompt', ...own }, argument });
    expect(completion.values).toEqual(['Engineering']);
    const { tools } = await clerk.listTools();
    const mailbox = tools.map(({ name }) => name).filter((name) => name.startsWith('signalbox_inbox_'));
    expect(mailbox).toEqual(['signalbox_inbox_read']);
    const read = {
      name: 'mcp_files__read_text_file',
      arguments: { path: join(workspace.directory, 'files', 'large.txt') },
    };
    expect(JSON.stringify(await clerk.callTool(read))).toContain('is too large to be shown here');
    const echo = { name: 'mcp_everything__echo', arguments: { message: 'hi' } };
    // The completion and the reading were the two requests of its budget.
    const { content } = await clerk.callTool(echo);
    expect(JSON.stringify(content)).toContain('used up the budget');
    expect(JSON.stringify(content).match(/again in/g)).toHaveLength(1);
  } finally {
    await clerk.close();
  }
});

test('tools list shows a role its own tools and no others, and says whose words a description is; the operator sees them all.', async () => {
  const own = jsonOf(await workspace.run(['tools', 'list', '--json'], researcher.env)) as ToolList;
  const names = own.tools.map((tool) => tool.name);
  expect(own.version).toEqual(expect.any(String));
  expect(names).toContain('mcp_everything__echo');
  expect(names).toContain('mcp_files__read_text_file');
  expect(names.every((name) => name === 'mcp_everything__echo' || name.startsWith('mcp_files__read_'))).toBe(
    true,
  );
  expect(own.tools.every((tool) => typeof tool.inputSchema === 'object')).toBe(true);
  const table = await workspace.run(['tools', 'list'], researcher.env);
  expect(table.stdout).toMatch(/^TOOL +ITS SERVER SAYS\neverything:echo +Echoes back the input string$/m);

  const sandbox = await workspace.agent('sandbox-1', 'sandbox');
  expect(jsonOf(await workspace.run(['tools', 'list', '--json'], sandbox.env))).toMatchObject({ tools: [] });
  const all = jsonOf(
    await workspace.run(['tools', 'list', '--json', '--config', 'signalbox.yaml']),
  ) as ToolList;
  expect(all.tools.length).toBeGreaterThan(own.tools.length);
});

test('tools list --role shows operators the tools of any role, and refuses everybody else.', async () => {
  const as = (role: string, env = {}) => workspace.run(['tools', 'list', '--role', role, '--json'], env);
  const own = jsonOf(await workspace.run(['tools', 'list', '--json'], researcher.env));
  expect(jsonOf(await as('researcher'))).toEqual(own);
  expect(jsonOf(await as('sandbox'))).toMatchObject({ tools: [] });
  for (const list of ['tools', 'resources', 'prompts']) {
    const misspelt = await workspace.run([list, 'list', '--role', 'researchr']);
    expect(misspelt).toMatchObject({ code: 2, stdout: '' });
    expect(misspelt.stderr).toContain("did you mean 'researcher'?");
  }
  // A role that only a token has is no misspelling.
  await workspace.agent('old-1', 'researchers');
  expect(jsonOf(await as('researchers'))).toMatchObject({
    tools: [],
    warnings: [expect.stringContaining("did you mean 'researcher'?")],
  });
  const refused = await as('sandbox', researcher.env);
  expect(refused.code).toBe(77);
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'permission_denied' } });
});

test('Rule, explanation, person and server get the arguments of a call in the same form, however its agent wrote them.', async () => {
  const secret = join(workspace.directory, 'files', 'secret', 'plan.txt');
  await mkdir(dirname(secret));
  await writeFile(secret, 'the secret plan\n');
  const { env } = await workspace.agent('asker-2', 'asker');
  const tool = 'mcp_files__read_multiple_files';
  const [asList, asText] = [{ paths: [secret] }, { paths: JSON.stringify([secret]) }];
  const call = (args: object) => workspace.run(['tools', 'call', tool, JSON.stringify(args), '--json'], env);
  const called = [call(asText), call(asList)];
  const explanation = workspace.run(['tools', 'explain', 'asker', tool, JSON.stringify(asText), '--json']);
  expect(jsonOf(await explanation)).toEqual(
    explained('approval', { verdict: 'waits', rule: 'roles.asker.ask[0]' }),
  );
  const waiting = async () => jsonOf(await workspace.run(['approvals', '--json'])) as Approvals;
  // Both spellings are the same call, which asks once.
  await expect.poll(async () => (await waiting()).approvals.length, { interval: 100 }).toBe(1);
  const [approval] = (await waiting()).approvals;
  const { id, arguments: shown, created_at, deadline_at } = approval!;
  expect(JSON.parse(shown)).toEqual(asList);
  // Without --timeout a call waits as long as it may.
  expect(deadline_at - created_at).toBe(60 * 60 * 1000);
  expect((await workspace.run(['approve', id])).code).toBe(0);
  for (const ended of called)
    expect(jsonOf(await ended)).toMatchObject({ result: { text: expect.stringContaining('secret plan') } });
  const harmless = { paths: JSON.stringify([join(workspace.directory, 'files', 'hello.txt')]) };
  expect(jsonOf(await call(harmless))).toMatchObject({ result: { success: true } });
  expect(jsonOf(await call({ paths: '[1' }))).toMatchObject({
    error: { code: 'invalid_arguments', message: expect.stringContaining('/paths must be an array') },
  });
});

test('--timeout bounds a call with its wait for a person, like the deadline of an agent.', async () => {
  const { env } = await workspace.agent('asker-3', 'asker');
  const paths = [join(workspace.directory, 'files', 'secret', 'other.txt')];
  const args = ['tools', 'call', 'mcp_files__read_multiple_files', JSON.stringify({ paths })];
  const hint = expect.stringContaining('--timeout bounds the wait for a person, too');
  expect(jsonOf(await workspace.run([...args, '--timeout', '3s', '--json'], env))).toMatchObject({
    error: { code: 'approval_expired', may_have_run: false, hint },
  });
  const { approvals } = jsonOf(await workspace.run(['approvals', '--all', '--json'])) as Approvals;
  expect(approvals.find(({ agent }) => agent === 'asker-3')).toMatchObject({ state: 'expired' });
});

test('An approval whose call was not sent, here because its server was stopped, holds for the same call once more, as the error says.', async () => {
  const { url } = workspace.ready.broker;
  await workspace.agent('asker-5', 'asker');
  const secretOf = async (file: string) => (await readFile(join(workspace.directory, file), 'utf8')).trim();
  const connect = async (agent: string, file: string) =>
    await connectBroker({ url, token: await secretOf(file), agent });
  await using asker = await connect('asker-5', 'asker-5.token');
  await using operator = await connect('operator#decides', join('state', 'operator.token'));
  const path = join(workspace.directory, 'files', 'secret', 'plan.txt');
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'the secret plan\n');
  const body = { op: 'call', tool: 'mcp_files__read_multiple_files', arguments: { paths: [path] } };
  const call = async () => {
    const outcome = await asker.request('orchestrator', 'mcp_request', body, { timeoutMs: 20_000 });
    return outcome.status === 'completed' ? outcome.reply.json : outcome;
  };
  const waiting = async () =>
    (await listApprovals(operator, 'orchestrator', { limit: 10 })).approvals.filter(
      ({ agent }) => agent === 'asker-5',
    );
  const first = call();
  await expect.poll(waiting).toHaveLength(1);
  const [{ id } = { id: '' }] = await waiting();
  await queryOrchestrator(operator, 'orchestrator', { op: 'stop', server: 'files' });
  await decideApproval(operator, 'orchestrator', id, { verdict: 'approve' });
  expect(await first).toMatchObject({
    error: {
      ...{ code: 'mcp_server_unreachable', may_have_run: false },
      hint: expect.stringContaining(`Approval ${id} was not used: until `),
    },
  });
  await queryOrchestrator(operator, 'orchestrator', { op: 'start', server: 'files' });
  expect(await call()).toMatchObject({
    result: { content: [{ text: expect.stringContaining('the secret plan') }] },
  });
  const { approvals } = await listApprovals(operator, 'orchestrator', { all: true, limit: 1 });
  expect(approvals).toMatchObject([
    {
      state: 'approved',
      by: { agent: 'operator' },
      reason: expect.stringContaining(`in place of approval ${id}`),
    },
  ]);
  const third = call();
  await expect.poll(waiting).toHaveLength(1);
  const [again] = await waiting();
  await decideApproval(operator, 'orchestrator', again!.id, { verdict: 'deny', reason: 'no' });
  expect(await third).toMatchObject({ error: { code: 'approval_denied' } });
});

test('A restored backup has no approval any more on which nobody had decided, since its call may have run, and says so; a question of an agent CLI waits on.', async () => {
  await workspace.agent('asker-4', 'asker');
  const token = (await readFile(join(workspace.directory, 'asker-4.token'), 'utf8')).trim();
  await using asker = await connectBroker({ url: workspace.ready.broker.url, token, agent: 'asker-4' });
  const paths = [join(workspace.directory, 'files', 'secret', 'plan.txt')];
  const call = { op: 'call', tool: 'mcp_files__read_multiple_files', arguments: { paths } };
  const question = { op: 'ask_permission', cli: 'claude', tool: 'Bash', input: {} };
  for (const body of [call, question])
    await asker.deliver({ to: 'orchestrator', kind: 'mcp_request', body, ttlMs: 30_000 });
  const own = async () =>
    (jsonOf(await workspace.run(['approvals', '--json'])) as Approvals).approvals.length;
  await expect.poll(own, { interval: 100 }).toBe(2);
  await workspace.run(['backup', 'saved']);
  expect(await workspace.run(['restore', 'saved', '--data', 'restored'])).toMatchObject({ code: 0 });
  await using journal = await openSqliteJournal({
    file: join(workspace.directory, 'restored', 'journal.db'),
  });
  const records = (await journal.approvals.list({ limit: 2 })).map(({ record }) => record);
  const [asked, called] = records.toSorted((a, b) => a.tool.localeCompare(b.tool));
  expect(called).toMatchObject({
    agent: 'asker-4',
    isUsed: true,
    end: { state: 'cancelled', reason: expect.stringContaining('a backup was restored') },
  });
  expect([asked!.tool, asked!.end, asked!.isUsed]).toEqual(['claude:Bash', undefined, undefined]);
});

test('A tool may be named by its server and its own name, or by that alone if one server has it.', async () => {
  const { env } = await workspace.agent('asker-7', 'asker');
  const file = JSON.stringify({ path: join(workspace.directory, 'files', 'hello.txt') });
  const names = ['files:read_text_file', 'read_text_file', 'mcp_files__read_text_file'];
  const calls = await Promise.all(names.map((name) => workspace.run(['tools', 'call', name, file], env)));
  for (const { stdout, stderr } of calls) expect(stdout, stderr).toContain('hello from a file');
  const explained = await workspace.run(['tools', 'explain', 'asker', 'files:read_text_file', file]);
  expect(explained.stdout).toContain('role asker may call files:read_text_file');
});

test('tools explain shows the steps in the order in which a call passes them, and ends where the call does with the same words.', async () => {
  const { env } = await workspace.agent('asker-6', 'asker');
  const read = 'mcp_files__read_multiple_files';
  const explain = (role: string, tool: string, args: object, ...options: string[]) =>
    workspace.run(['tools', 'explain', role, tool, JSON.stringify(args), ...options]);
  const stepsOf = async (...asked: Parameters<typeof explain>) =>
    (jsonOf(await explain(...asked, '--json')) as Explanation).steps;
  const call = (of: Record<string, string>, tool: string, args: object) =>
    workspace.run(['tools', 'call', tool, JSON.stringify(args), '--json'], of);
  // Each call would be refused by a later step, too.
  const long = [join(workspace.directory, 'files', 'secret', 'x'.repeat(70_000))];
  const ends = [
    ['allowlist', 'researcher', researcher.env, 'mcp_everything__get-sum', { a: 'x' }],
    ['arguments', 'asker', env, read, { paths: `[${JSON.stringify(long)}` }],
    ['approval', 'asker', env, read, { paths: long }],
  ] as const;
  const compare = async ([step, role, of, tool, args]: (typeof ends)[number]) => {
    const [steps, called] = await Promise.all([stepsOf(role, tool, args), call(of, tool, args)]);
    expect(steps.at(-1)).toMatchObject({ step, verdict: 'refused' });
    const error = { message: steps.at(-1)?.says, may_have_run: false };
    expect(jsonOf(called)).toMatchObject({ error });
  };
  await Promise.all(ends.map(compare));
  const broken = { paths: '[1' };
  const { hold } = jsonOf(
    await workspace.run(['hold', '--tool', read, '--reason', 'a look first', '--json']),
  ) as { hold: { id: string } };
  const held = call(env, read, broken);
  await expect
    .poll(async () => (await workspace.run(['tools', 'calls', '--running'])).stdout, { interval: 100 })
    .toContain('held');
  const steps = await stepsOf('asker', read, broken);
  const verdicts = steps.filter(({ verdict }) => verdict !== 'passes').map((one) => [one.step, one.verdict]);
  expect(verdicts).toEqual([
    ['lost call', 'depends'],
    ['hold', 'waits'],
    ['arguments', 'refused'],
  ]);
  await workspace.run(['release', hold.id]);
  expect(jsonOf(await held)).toMatchObject({ error: { message: steps.at(-1)?.says } });
  const asked = { paths: [join(workspace.directory, 'files', 'secret', 'plan.txt')] };
  const lines = (await explain('asker', read, asked)).stdout.split('steps of a call:\n')[1]!.split('\n');
  expect(lines.map((line) => line.slice(2, 16).trim())).toEqual([
    ...['repeated reply', 'kept result', 'lost call', 'record', 'hold', 'allowlist', 'arguments', 'approval'],
    ...['budget', 'queue', 'recheck', 'journal', 'host', ''],
  ]);
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^ {2}approval +waits: a call waits until a person approves it \(roles\.asker\.ask/,
    ),
  );
});

test('A tool that reports its own failure ends with 1 and the whole reply.', async () => {
  const path = JSON.stringify({ path: join(workspace.directory, 'files', 'gone.txt') });
  const run = await workspace.run(
    ['tools', 'call', 'mcp_files__read_text_file', path, '--json'],
    researcher.env,
  );
  expect(run.code).toBe(1);
  expect(jsonOf(run)).toMatchObject({ result: { success: false, isError: true } });
});

test('A message to a group waits for one member, or goes to all of them; a misspelt group and odd options are refused.', async () => {
  await workspace.agent('editor-1', 'editor');
  await workspace.agent('editor-2', 'editor');
  const send = (...args: string[]) => workspace.run(['send', ...args], researcher.env);
  const one = await send('role:editor', 'read this', '--key', 'page-7');
  expect(one.stdout).toMatch(/^message \S+ is stored for role:editor\n$/);
  const all = await send('role:editor', 'stop', '--all', '--json');
  expect(jsonOf(all)).toMatchObject({ duplicate: false, members: 2 });
  const misspelt = await send('role:editer', 'read this');
  expect([misspelt.code, misspelt.stderr]).toEqual([
    2,
    expect.stringContaining("did you mean 'role:editor'?"),
  ]);
  const odd = await send('editor-1', 'stop', '--all');
  expect([odd.code, odd.stderr]).toEqual([
    2,
    expect.stringContaining("--all goes with a group, and 'editor-1' is none"),
  ]);
});

interface Approvals {
  approvals: (Approval & { arguments: string })[];
}

interface ToolList {
  version: string;
  tools: { name: string; inputSchema: unknown }[];
}

test('What is sent waits in the inbox, is shown without being claimed, and is gone once taken.', async () => {
  const writer = await workspace.agent('writer-1', 'writer');
  const sent = await workspace.run(
    ['send', 'writer-1', 'sources are ready', '--id', 'm1', '--json'],
    researcher.env,
  );
  expect(jsonOf(sent)).toMatchObject({ id: 'm1', duplicate: false, waiting: { ever_connected: false } });
  const again = await workspace.run(
    ['send', 'writer-1', 'sources are ready', '--id', 'm1', '--json'],
    researcher.env,
  );
  expect(jsonOf(again)).toEqual({ id: 'm1', duplicate: true });
  expect((await workspace.run(['send', 'writer-1', '-'], researcher.env)).code).toBe(0);

  const waiting = {
    messages: [
      {
        id: 'm1',
        from: { agent: 'researcher-1', role: 'researcher' },
        to: 'writer-1',
        kind: 'note',
        body: 'sources are ready',
      },
      { body: '' },
    ],
  };
  for (let round = 0; round < 2; round++) {
    expect(jsonOf(await workspace.run(['inbox', '--json'], writer.env))).toMatchObject(waiting);
  }
  const first = await workspace.run(['inbox', '--take', '--limit', '1', '--json'], writer.env);
  expect(jsonOf(first)).toMatchObject({ messages: [{ id: 'm1' }] });
  const rest = await workspace.run(['inbox', '--take', '--json'], writer.env);
  expect(jsonOf(rest)).toMatchObject({ messages: [{ body: '' }] });
  expect(jsonOf(await workspace.run(['inbox', '--json'], writer.env))).toEqual({ messages: [] });
});

test('A tool that the role may not use is refused with 77; arguments that are no object with 2.', async () => {
  const refused = await workspace.run(
    ['tools', 'call', 'mcp_everything__get-sum', '{"a":1,"b":2}', '--json'],
    researcher.env,
  );
  expect(refused.code).toBe(77);
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'permission_denied', may_have_run: false } });
  const unknown = await workspace.run(['tools', 'call', 'mcp_files__read_nothing', '--json'], researcher.env);
  expect(unknown.code).toBe(2);
  expect(jsonOf(unknown)).toMatchObject({ error: { code: 'tool_not_found' } });
  const bad = await workspace.run(['tools', 'call', 'mcp_everything__echo', '[1]'], researcher.env);
  expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a JSON object') });
});

test('What would be cut, told to nobody or ignored is refused before anything happens.', async () => {
  const long = '--timeout: this broker keeps messages for at most 30 d';
  const start = ['worker', 'run', '--config', 'signalbox.yaml', '--agent', 'zed', '--role', 'researcher'];
  const cases: [string[], string, Record<string, string>?][] = [
    [['send', 'researcher-1', 'hi', '--ttl', '400d'], '--ttl: this broker keeps messages for at most 30 d'],
    [['ask', 'researcher-1', 'hi', '--timeout', '31d'], long],
    [['tools', 'call', 'everything:echo', '--timeout', '31d'], long, researcher.env],
    [[...start, '--parent', 'reseacher-1', '--', 'cat'], "did you mean 'researcher-1'?"],
    [['worker', 'run', '--parent', 'researcher-1', '--', 'cat'], "'researcher-1' has one", researcher.env],
    [[...start, '--keep-mcp', '--', 'cat'], "--keep-mcp changes nothing for 'cat': it is for claude"],
    [[...start, '--no-inject', '--keep-mcp', '--', 'cat'], '--keep-mcp changes nothing with --no-inject'],
    [
      [...start, '--approve-workspace-servers', '--', 'cat'],
      "--approve-workspace-servers changes nothing for 'cat': it is for cursor-agent",
    ],
  ];
  for (const [argv, said, env] of cases) {
    const { code, stderr } = await workspace.run(argv, env);
    expect([argv, code, stderr]).toEqual([argv, 2, expect.stringContaining(said)]);
  }
  await using operator = await workspace.operator();
  expect((await operator.listConnected()).map(({ agent }) => agent)).not.toContain('zed');
  expect(await operator.peek({ address: 'researcher-1' })).toEqual([]);
});
