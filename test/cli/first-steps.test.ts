import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOrchestrator } from '@signalbox/client/operator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonOf } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace, type Workspace } from '../support/cli/workspace.ts';

let shared: Workspace;
beforeAll(async () => {
  shared = await startWorkspace(everythingText);
});
afterAll(() => shared?.[Symbol.asyncDispose]());

test('History shows a request, the tool call it caused and the answer as one group, in that order.', async () => {
  const operator = ['--config', 'signalbox.yaml'];
  const history = async (...args: string[]) =>
    jsonOf(await shared.run(['history', '--json', ...operator, ...args])) as {
      groups: { correlation_id: string; entries: Record<string, unknown>[] }[];
    };
  const researcher = await shared.agent('researcher-1', 'researcher');
  const call = (args: string) => shared.run(['tools', 'call', 'mcp_everything__echo', args], researcher.env);
  expect((await call('{"message":"for the record"}')).code).toBe(0);
  const sent = await shared.run(['send', 'researcher-1', 'a note', '--id', 'note-1'], researcher.env);
  expect(sent.code).toBe(0);
  const { groups } = await history('--since', '10m', '--agent', 'researcher-1');
  const shapes = groups.map(({ entries }) => entries.map(({ what, kind, tool }) => [what, kind ?? tool]));
  expect(shapes).toContainEqual([
    ['message', 'mcp_request'],
    ['call', 'mcp_everything__echo'],
    ['message', 'mcp_reply'],
  ]);
  expect(shapes).toContainEqual([['message', 'note']]);
  const note = await history('--correlation', 'note-1');
  expect(note.groups).toMatchObject([{ correlation_id: 'note-1', entries: [{ id: 'note-1' }] }]);
  expect((await call('{"message":"the newest"}')).code).toBe(0);
  const newest = await shared.run(['history', '--limit', '2', ...operator]);
  expect(newest.stdout).toMatch(
    /^\S+Z +researcher-1 +researcher-1 +note .*\n\S+Z .*call everything:echo .*\n\n/m,
  );
  expect(newest.stdout).toContain('2 rows shown, and there is more before');
  expect(JSON.stringify(groups)).not.toContain('for the record');

  const table = await shared.run(['history', ...operator]);
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(table.stdout).toMatch(/^TIME +FROM +TO +WHAT +OUTCOME +ID$/m);
  expect(table.stdout).toMatch(/^\S+Z +researcher-1 +everything +call everything:echo +ok/m);
  expect(table.stdout).not.toContain('mcp_request');
  const whole = await shared.run(['history', '-v', ...operator]);
  expect(whole.stdout).toMatch(/^ +\+[\d.]+ m?s +researcher-1 +everything +call everything:echo +ok/m);
});

/** The configuration with one server, and two patterns with typos. */
function mistyped(): string {
  const config = JSON.parse(everythingText().replace('mcp_everything__echo', 'everything:ehco'));
  config.roles.researcher.ask = ['everything:get-smu'];
  return JSON.stringify(config);
}

test('A pattern of a role that matches nothing is told as long as it stands, and so is a server that is still starting.', async () => {
  await using workspace = await startWorkspace(mistyped);
  const text =
    "role 'researcher': 'everything:ehco' matches no tool; the most similar tool is 'everything:echo'";
  // A call would go on without the approval that was meant.
  const ask =
    "roles.researcher.ask: 'everything:get-smu' matches no tool; the most similar tool is 'everything:get-sum'";
  const [status, matrix, doctor] = [
    await workspace.run(['status']),
    await workspace.run(['tools', 'matrix']),
    await workspace.run(['doctor']),
  ];
  expect(status).toMatchObject({ code: 1, stdout: expect.stringContaining(text) });
  expect(status.stdout).toContain(ask);
  expect(matrix).toMatchObject({ code: 0, stderr: `warning: ${text}\nwarning: ${ask}\n` });
  expect(doctor.stdout).toContain(text);
  expect(jsonOf(await workspace.run(['tools', 'matrix', '--json']))).toMatchObject({ warnings: [text, ask] });

  const file = join(workspace.directory, 'signalbox.yaml');
  const config = JSON.parse(await readFile(file, 'utf8'));
  config.mcpServers.hanging = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
  config.roles.researcher = { tools: ['everything:echo', 'hanging:*'] };
  await writeFile(file, JSON.stringify(config));
  // The change is put in force by itself.
  await using operator = await workspace.operator();
  const starting = async () =>
    (await queryOrchestrator(operator, 'orchestrator', { op: 'matrix' })).not_ready?.map(
      ({ server }) => server,
    );
  await expect.poll(starting).toEqual(['hanging']);
  expect(await workspace.run(['tools', 'matrix'])).toMatchObject({
    stdout: expect.stringContaining('everything:echo'),
    stderr: 'hanging is still starting\n',
  });
});

test('explain takes the name of an agent for its role, and asks which of several roles is meant.', async () => {
  const workspace = shared;
  const explain = ['tools', 'explain', 'rosa', 'everything:echo'];
  // Every object has a member with the second name.
  for (const agent of ['rosa', 'constructor']) {
    await workspace.agent(agent, 'researcher');
    expect(await workspace.run(['tools', 'explain', agent, 'everything:echo'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('role researcher may call everything:echo'),
      stderr: `'${agent}' is an agent; this is about its role, researcher\n`,
    });
  }
  const byRole = await workspace.run(['tools', 'explain', 'sandbox', 'everything:echo']);
  expect(byRole).toMatchObject({ stdout: expect.stringContaining('role sandbox may not call'), stderr: '' });
  await workspace.agent('rosa', 'sandbox');
  expect(await workspace.run(explain)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name one of them: researcher, sandbox'),
  });
});

test('A command says that it is about another system, that a label has no servers, and that a token is cut.', async () => {
  const { directory, run } = shared;
  await writeFile(join(directory, 'other.yaml'), 'broker: { data: ./state }\n');
  const other =
    /this is about the system of .*signalbox\.yaml, which runs on .*state, and not about .*other\.yaml/;
  for (const command of ['tools matrix', 'holds']) {
    const there = await run([...command.split(' '), '--config', 'other.yaml', '--json']);
    expect(there, command).toMatchObject({ code: 0, stderr: expect.stringMatching(other) });
    expect(await run([...command.split(' '), '--json']), command).toMatchObject({ code: 0, stderr: '' });
  }
  const hosted = await run(['token', 'issue', '--host', 'gpu', '--out', 'gpu.token']);
  expect(hosted).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/does not name the label 'gpu', .*hosts: \{ gpu: \[SERVER\] \}/),
  });
  const { env } = await shared.agent('rosa', 'researcher');
  const whole = (await readFile(env.SIGNALBOX_TOKEN_FILE!, 'utf8')).trim();
  const faults = {
    [whole.slice(0, -5)]: 'is cut: 5 of the 43 characters behind ~ are missing',
    [`${whole}ab`]: 'has 2 characters too many behind ~',
    [`"${whole}"`]: 'has characters before or in its token that belong to none',
  };
  for (const [text, says] of Object.entries(faults)) {
    await writeFile(env.SIGNALBOX_TOKEN_FILE!, text);
    const refused = await run(['inbox'], env);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
    expect(refused.stderr).not.toContain(whole.slice(10, 30));
  }
});

test('A worker with a broken token file ends at once, with the file and the cure, and prints nothing of the token.', async () => {
  const run = (...args: string[]) => shared.run(args);
  await run('token', 'issue', '--agent', 'rhea', '--role', 'researcher', '--out', 'rhea.token');
  const file = join(shared.directory, 'rhea.token');
  const whole = readFileSync(file, 'utf8');
  const secret = whole.slice(whole.indexOf('~') + 1, whole.indexOf('\n'));
  const broken = {
    'is empty': '',
    'is cut in its second line': whole.slice(0, -5),
    'is cut: 9 of the 43 characters': whole.slice(0, whole.indexOf('\n') - 9),
    'is no text': Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 0xff, 0xfe]),
    'holds several tokens': `${whole}${whole}`,
  };
  const inbox = ['inbox', '--token-file', 'rhea.token'];
  // It would wait for a broker for longer than the test may take.
  const worker = ['worker', 'mcp', '--wait', '10m', '--token-file', 'rhea.token'];
  for (const [at, [fault, text]] of Object.entries(broken).entries()) {
    writeFileSync(file, text);
    // A worker is a process, and reads the file as other commands do.
    const { code, stdout, stderr } = await run(...(at < 2 ? worker : inbox));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`the token file rhea.token ${fault}`);
    // Only what is left of a token is replaced.
    const isRest = fault === 'is empty' || fault.startsWith('is cut');
    const out = isRest ? 'rhea.token --force' : 'NAME.token';
    expect(stderr).toContain(`token issue --agent NAME --role ROLE --out ${out}`);
    expect(stderr).not.toContain(secret.slice(0, 8));
  }
  writeFileSync(file, whole.replaceAll('\n', '\r\n'));
  expect((await run(...inbox)).stdout).toBe('no messages are waiting for rhea\n');
  rmSync(file);
  mkdirSync(file);
  expect((await run(...worker)).stderr).toContain('the token file rhea.token is a folder\n');
});

test('An operator who misspells an agent is told so, and an agent without anything has an empty list.', async () => {
  const run = (...args: string[]) => shared.run(args);
  await run('token', 'issue', '--agent', 'iris', '--role', 'researcher', '--out', 'iris.token');
  const about = (agent: string) => [
    ['inbox', '--of', agent],
    ['history', '--agent', agent],
    ['dead', '--inbox', agent],
    ['dead', 'retry', '--inbox', agent],
  ];
  for (const words of about('irsi')) {
    const { code, stdout, stderr } = await run(...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("no agent 'irsi' has a token or ever connected (did you mean 'iris'?)");
  }
  for (const words of about('iris')) expect(await run(...words)).toMatchObject({ code: 0 });
  const kinds = await run('audit', 'calls');
  expect(kinds).toMatchObject({ code: 2, stderr: expect.stringContaining("(did you mean 'call'?)") });
});

test('An empty configuration is right for a new system, and wrong for the one that runs with roles.', async () => {
  const { directory, run } = shared;
  const text = `broker: { data: ./state, listen: '127.0.0.1:0' }\n`;
  await writeFile(join(directory, 'signalbox.yaml'), text);
  const refused = await run(['config', 'check']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no roles are left') });
  await writeFile(join(directory, 'new.yaml'), text.replace('./state', './new'));
  expect(await run(['config', 'check', 'new.yaml'])).toMatchObject({ code: 0, stderr: '' });
});
