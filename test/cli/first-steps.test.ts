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

test('An empty configuration is right for a new system, and wrong for the one that runs with roles.', async () => {
  const { directory, run } = shared;
  const text = `broker: { data: ./state, listen: '127.0.0.1:0' }\n`;
  await writeFile(join(directory, 'signalbox.yaml'), text);
  const refused = await run(['config', 'check']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no roles are left') });
  await writeFile(join(directory, 'new.yaml'), text.replace('./state', './new'));
  expect(await run(['config', 'check', 'new.yaml'])).toMatchObject({ code: 0, stderr: '' });
});
