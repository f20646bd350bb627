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

test('A worker never borrows the operator’s token.', async () => {
  const run = await workspace.run(['worker', 'mcp', '--config', 'signalbox.yaml']);
  expect(run).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('a worker needs a token of its own'),
  });
});
