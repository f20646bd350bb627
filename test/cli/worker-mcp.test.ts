import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startMcpWorkspace } from '../support/cli/worker-mcp.ts';
import type { Workspace } from '../support/cli/workspace.ts';

let workspace: Workspace;
let env: Record<string, string>;

beforeAll(async () => {
  workspace = await startMcpWorkspace();
  ({ env } = await workspace.agent('researcher-1', 'researcher'));
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test('An MCP client that runs "signalbox worker mcp" sees its role’s tools and can call them.', async () => {
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'ignore',
    env: cleanEnv(env),
  });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('mcp_everything__echo');
    expect(tools.map(({ name }) => name)).not.toContain('mcp_everything__get-sum');
    const result = await client.callTool({ name: 'mcp_everything__echo', arguments: { message: 'hi' } });
    expect(result.content).toEqual([{ type: 'text', text: expect.stringContaining('hi') }]);
  } finally {
    await client.close();
  }
});

test('The first line that a client reads names the mailbox, also for a role whose large results are kept.', async () => {
  const { env: careful } = await workspace.agent('careful-2', 'careful');
  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'ignore',
    env: cleanEnv(careful),
  });
  await client.connect(transport);
  try {
    expect(client.getInstructions()).toMatch(/^You share a mailbox.*\n[\s\S]*signalbox_result_read/);
  } finally {
    await client.close();
  }
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

test('A worker never borrows the operator’s token.', async () => {
  const run = await workspace.run(['worker', 'mcp', '--config', 'signalbox.yaml']);
  expect(run).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('a worker needs a token of its own'),
  });
});
