import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startMcpWorkspace, workerTransport } from '../support/cli/worker-mcp.ts';
import type { Workspace } from '../support/cli/workspace.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

let workspace: Workspace;
let env: Record<string, string>;

beforeAll(async () => {
  workspace = await startMcpWorkspace();
  ({ env } = await workspace.agent('researcher-1', 'researcher'));
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test('The parameter that Gemini CLI adds to all calls for itself reaches no tool, neither a hosted one nor one of the mailbox; of another client it is an argument like any other.', async () => {
  for (const name of ['gemini-cli-mcp-client', 'gemini-cli-mcp-client-signalbox', 'agent']) {
    const client = new Client({ name, version: '1.0.0' });
    await client.connect(workerTransport(env));
    try {
      const call = (name: string, args: object) =>
        client.callTool({ name, arguments: { ...args, wait_for_previous: true } });
      const listed = await call('signalbox_list_agents', {});
      const echoed = await call('mcp_everything__echo', { message: 'hi' });
      if (name === 'agent') {
        expect(listed).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining("there is no argument 'wait_for_previous'") }],
        });
      } else {
        expect(listed.isError).not.toBe(true);
        expect(echoed).toMatchObject({ content: [{ text: expect.stringContaining('hi') }] });
      }
    } finally {
      await client.close();
    }
  }
});

test('A client that gives up while a person decides leaves the question open: an approval then runs nothing, and lets the same call through once.', async () => {
  const { env: careful } = await workspace.agent('careful-1', 'careful');
  const client = new Client({ name: 'codex-mcp-client', version: '0.171.0' });
  const transport = workerTransport(careful);
  await client.connect(transport);
  const operator = ['--config', 'signalbox.yaml'];
  const call = { name: 'mcp_everything__echo', arguments: { message: 'hi' } };
  try {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => resolve() };
    const given = expect(client.callTool(call, options)).rejects.toThrow();
    await asked;
    abort.abort('MCP request cancelled by caller');
    await given;
    const listed = async () => (await workspace.run(['approvals', ...operator])).stdout;
    await expect.poll(listed).toContain('left; its caller stopped waiting');
    const [id = ''] = /^\w{6}(?= {2}pending)/m.exec(await listed()) ?? [];
    const shown = await workspace.run(['approvals', 'show', id, ...operator]);
    expect(shown.stdout).toMatch(/^caller +stopped waiting at \d{4}-/m);
    const approved = await workspace.run(['approve', id, ...operator]);
    expect(approved.stdout).toMatch(/not made now. If it comes again by \d{4}-.*Z, it runs once/);
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'Echo: hi' }] });
  } finally {
    await client.close();
  }
});

test('The log messages of a server reach the agent whose call runs, from the level that its client sets, the log and servers.', async () => {
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const messages: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => {
    messages.push(params);
  });
  const transport = workerTransport(env);
  await client.connect(transport);
  try {
    await client.setLoggingLevel('debug');
    await client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    await client.callTool({ name: 'mcp_everything__toggle-simulated-logging' });
    await expect
      .poll(() => messages)
      .toEqual([{ level: expect.any(String), data: expect.stringMatching(/level.message/) }]);
    await client.callTool({ name: 'mcp_everything__toggle-simulated-logging' });
  } finally {
    await client.close();
  }
  const status = await workspace.run(['servers', 'show', 'everything', '--config', 'signalbox.yaml']);
  expect(status.stdout).toMatch(/its last log messages:\n {4}\w+: \w+.level.message/);
  expect(workspace.up.stderr()).toMatch(/"event":"server_message".*level.message/);
});

test('The worker ends with the process that started it, also while somebody else holds its input open.', async () => {
  const input = join(workspace.directory, 'input');
  execFileSync('mkfifo', [input]);
  // Opened for both directions, it never ends.
  await using held = await open(input, 'r+');
  const script = `
    const { spawn } = require('node:child_process');
    const args = ${JSON.stringify(signalboxArgv(['worker', 'mcp']))};
    const worker = spawn(process.execPath, args, { stdio: ['inherit', 'inherit', 'ignore'] });
    process.stderr.write(String(worker.pid));`;
  const parent = spawn(process.execPath, ['-e', script], {
    env: cleanEnv(env),
    stdio: [held.fd, 'pipe', 'pipe'],
  });
  const [pid] = (await once(parent.stderr!, 'data')) as [Buffer];
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  await held.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  await once(parent.stdout!, 'data');
  parent.kill('SIGKILL');
  const isThere = () => {
    try {
      return process.kill(Number(pid), 0);
    } catch {
      return false;
    }
  };
  expect(isThere()).toBe(true);
  await expect.poll(isThere).toBe(false);
});

test('A worker that is asked to end answers the call it has running and cancels it in the server.', async () => {
  await using stack = await startToolStack();
  const tokenFile = join(stack.directory, 'worker.token');
  await writeFile(tokenFile, await stack.broker.token('w1'));
  const own = { SIGNALBOX_URL: stack.broker.url, SIGNALBOX_AGENT: 'w1', SIGNALBOX_TOKEN_FILE: tokenFile };
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = workerTransport(own);
  await client.connect(transport);
  try {
    const call = client.callTool({ name: 'mcp_counter__slow', arguments: { ms: 60_000 } });
    await expect.poll(() => stack.ran('slow').length).toBe(1);
    process.kill(transport.pid!, 'SIGTERM');
    expect(await call).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'cancelled', may_have_run: true } },
    });
    await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
  } finally {
    await client.close();
  }
});

test('A worker whose broker does not come says so on standard error after its wait, with 69.', async () => {
  const nobody = { ...env, SIGNALBOX_URL: 'ws://127.0.0.1:9' };
  const run = await signalbox(['worker', 'mcp', '--wait', '400ms', '--json'], { env: nobody });
  expect(run).toMatchObject({ code: 69, stdout: '' });
  expect(run.stderr).toContain('"code":"unreachable"');
});

test.each(['end of input', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'The worker ends at %s with exit code 0, and wrote nothing but MCP.',
  async (how) => {
    const child = spawn(process.execPath, signalboxArgv(['worker', 'mcp']), { env: cleanEnv(env) });
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    const ended = once(child, 'close');
    child.stdin.write(
      `${JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'raw', version: '1' },
        },
      })}\n`,
    );
    await once(child.stdout, 'data');
    if (how === 'end of input') child.stdin.end();
    else child.kill(how);
    expect(await ended).toEqual([0, null]);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { jsonrpc: '2.0', id: 1, result: expect.objectContaining({ serverInfo: expect.anything() }) },
    ]);
  },
);
