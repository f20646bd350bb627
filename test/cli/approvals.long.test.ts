import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { startAskingStack } from '../support/approvals/asking-stack.ts';
import { cleanEnv, jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { serverScript, startWorkspace } from '../support/cli/workspace.ts';
import { connectMcpClient } from '../support/worker/mcp-client.ts';

const count = 'mcp_counter__count';

test('a decision on an id that nobody knows, that is of another role, or that is spent changes nothing and says why', async () => {
  await using stack = await startAskingStack();
  const { token } = await stack.broker.broker.issueToken({ agent: 'lead', role: 'lead', approves: ['ci-*'] });
  const rosa = await stack.executor('rosa');
  const ended = rosa.execute({ name: count });
  const [{ id } = { id: '' }] = await stack.waits();
  const at = ['--data', stack.broker.dataDir];
  const env = { SIGNALBOX_URL: stack.broker.url, SIGNALBOX_TOKEN: token };
  const [unknown, unknownJson, shown, foreign] = await Promise.all([
    signalbox(['approve', 'zzzzzz', ...at]),
    signalbox(['deny', 'zzzzzz', '--reason', 'no', '--json', ...at]),
    signalbox(['approvals', 'show', 'zzzzzz', ...at]),
    signalbox(['approve', id], { env }),
  ]);
  expect([unknown.code, unknownJson.code, shown.code]).toEqual([1, 1, 1]);
  for (const text of [unknown.stderr, unknownJson.stdout, shown.stderr])
    expect(text).toContain("there is no approval 'zzzzzz' that you may see");
  expect(jsonOf(unknownJson)).toMatchObject({ error: { code: 'not_found' } });
  expect(foreign.stderr).toContain(
    "your token decides on calls of 'ci-*', and this one is of the role 'worker'",
  );
  expect(foreign.code).toBe(77);
  expect(await stack.pending()).toHaveLength(1);
  await stack.decide(id, { verdict: 'deny', reason: 'enough' });
  await ended;
  const [spent, spentJson, revoked] = await Promise.all([
    signalbox(['approve', id, ...at]),
    signalbox(['approve', id, '--json', ...at]),
    signalbox(['approvals', 'revoke', 'zzzzzz', ...at]),
  ]);
  expect(spent.stderr).toContain(
    `nothing was changed: approval ${id} was denied already by operator: enough`,
  );
  expect(jsonOf(spentJson)).toMatchObject({ decided: false, approval: { id, state: 'denied' } });
  expect(revoked.stderr).toContain("there is no standing approval 'zzzzzz' in force");
  expect([spent.code, spentJson.code, revoked.code]).toEqual([1, 1, 1]);
});

test('characters that nobody sees, and those that move a cursor or turn a line around, are printed as escapes by each command on approvals and holds', async () => {
  await using stack = await startAskingStack();
  const rosa = await stack.executor('rosa');
  const hostile = 'a\u001b[2J\u202eb\u200bc\u009bd\u2028e';
  const ended = rosa.execute({ name: count, arguments: { text: hostile, [`${hostile}\r`]: 1 } });
  const [{ id } = { id: '' }] = await stack.waits();
  const on = { on: 'agent', name: hostile, unchecked: true } as const;
  await stack.operator.admin('hold', { ...on, reason: 'zero\u200bwidth' });
  const at = ['--data', stack.broker.dataDir];
  const before = await Promise.all([
    signalbox(['approvals', ...at]),
    signalbox(['approvals', 'show', id, ...at]),
    signalbox(['holds', ...at]),
  ]);
  const denied = await signalbox(['deny', id, '--reason', `no ${hostile}`, ...at]);
  await ended;
  const after = await Promise.all([
    signalbox(['approve', id, ...at]),
    signalbox(['approvals', 'show', id, ...at]),
  ]);
  for (const { stdout, stderr } of [...before, denied, ...after])
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  const shown = [...before, ...after].map(({ stdout, stderr }) => stdout + stderr);
  for (const text of shown) expect(text).toContain('\\u202eb\\u200bc\\x9bd');
  expect(shown[2]).toContain('zero\\u200bwidth');
});

test('a call that is interrupted while it waits for a person says that its tool has not run', async () => {
  await using stack = await startAskingStack();
  const env = cleanEnv({
    SIGNALBOX_URL: stack.broker.url,
    SIGNALBOX_TOKEN: await stack.broker.token('rosa', 'worker'),
  });
  const calling = spawn(process.execPath, signalboxArgv(['tools', 'call', count, '{}', '--json']), { env });
  let stdout = '';
  calling.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const ended = once(calling, 'close');
  await stack.waits();
  calling.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  const { error } = JSON.parse(stdout);
  expect(error).toMatchObject({ code: 'cancelled', category: 'permanent', may_have_run: false });
  expect(error).not.toHaveProperty('hint');
});

test('An approval that is given after kill -9 of the one who waits runs nothing, and is kept for the next same call.', async () => {
  await using workspace = await startWorkspace((directory) =>
    JSON.stringify({
      broker: { listen: '127.0.0.1:0', data: './state' },
      mcpServers: {
        files: {
          command: process.execPath,
          args: [serverScript('@modelcontextprotocol/server-filesystem'), join(directory, 'files')],
        },
      },
      roles: { clerk: { tools: ['mcp_files__*'], ask: ['files:write_file'] } },
    }),
  );
  const file = join(workspace.directory, 'files', 'written.txt');
  const { env } = await workspace.agent('carl', 'clerk');
  const connect = async () => {
    const [command = '', ...args] = signalboxArgv(['worker', 'mcp']);
    const transport = new StdioClientTransport({
      command,
      args,
      env: { ...cleanEnv(), ...env },
      stderr: 'ignore',
    });
    return { transport, agent: await connectMcpClient(transport) };
  };
  const write = { path: file, content: 'written once' };
  const { transport, agent } = await connect();
  await using _agent = agent;
  const lost = expect(agent.call('mcp_files__write_file', write)).rejects.toThrow();
  const listed = async () =>
    (jsonOf(await workspace.run(['approvals', '--json'])) as { approvals: { id: string }[] }).approvals;
  await expect.poll(listed).toHaveLength(1);
  const [{ id = '' } = {}] = await listed();
  process.kill(transport.pid!, 'SIGKILL');
  await lost;
  await workspace.run(['approve', id]);
  const shown = async () =>
    (jsonOf(await workspace.run(['approvals', 'show', id, '--json'])) as { approval: object }).approval;
  await expect
    .poll(shown, { interval: 500, timeout: 20_000 })
    .toMatchObject({ state: 'approved', kept_until: expect.any(Number) });
  expect(existsSync(file)).toBe(false);
  const next = await connect();
  await using _next = next.agent;
  expect(await next.agent.call('mcp_files__write_file', write)).not.toHaveProperty('isError', true);
  expect(await readFile(file, 'utf8')).toBe('written once');
  expect(await listed()).toEqual([]);
});

test('hold and release say in plain words what is held, why, and what comes next', async () => {
  await using stack = await startAskingStack();
  const at = ['--data', stack.broker.dataDir];
  const placed = await signalbox(['hold', '--all', '--reason', 'incident 12', ...at]);
  const [{ id } = { id: '' }] = (await stack.operator.admin('holds', {})).holds;
  expect(placed.stdout).toBe(
    `Everything is held until its release: incident 12\nRelease it with: signalbox release ${id}\n`,
  );
  const name = await signalbox(['release', 'rosa', ...at]);
  expect(name.stderr).toContain("if 'rosa' is an agent, write --agent rosa");
  const released = await signalbox(['release', '--all', ...at]);
  expect(released.stdout).toMatch(
    new RegExp(`^Everything is released \\(hold ${id}\\)\\.\\noperator placed it at \\S+: incident 12\\n$`),
  );
});
