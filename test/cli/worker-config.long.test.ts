import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { expect, test } from 'vitest';
import { signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const config = ['worker', 'config', '--client'];

test('what is printed works as it is, names absolute paths and holds no token; an expired token is warned about', async () => {
  const allowlist = RoleToolAllowlist.fromEntries([['reader', ['mcp_counter__echo']]]);
  await using stack = await startToolStack({ allowlist });
  const tokenFile = join(stack.directory, 'rita.token');
  const token = await stack.broker.token('rita', 'reader');
  await writeFile(tokenFile, `${token}\n`);
  await writeFile(join(stack.directory, 'old.token'), await stack.broker.token('old', 'reader', 1));
  const at = { cwd: stack.directory, env: { SIGNALBOX_URL: stack.broker.url } };
  const [printed, expired] = await Promise.all([
    signalbox([...config, 'claude', '--tools', 'search', '--token-file', 'rita.token'], at),
    signalbox([...config, 'codex', '--token-file', 'old.token'], at),
  ]);
  expect(printed.stderr).not.toContain('refuses');
  expect(expired).toMatchObject({ code: 0, stdout: expect.stringContaining('old.token') });
  expect(expired.stderr).toMatch(
    /the broker refuses this token: the token of 'old' .* expired on .*with: --out \S+old\.token --force/,
  );
  expect(printed.stderr).toContain('This goes into .mcp.json.');
  expect(printed.stdout + printed.stderr).not.toContain(token);
  const { command, args, env } = JSON.parse(printed.stdout).mcpServers.signalbox;
  expect([command, ...args]).toEqual([
    process.execPath,
    ...signalboxArgv(['worker', 'mcp', '--tools', 'search']),
  ]);
  expect(env).toEqual({
    SIGNALBOX_URL: stack.broker.url,
    SIGNALBOX_AGENT: 'rita',
    SIGNALBOX_TOKEN_FILE: tokenFile,
  });
  const client = new Client({ name: 'agent', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).slice(-2)).toEqual(['search_tools', 'call_tool']);
  const echo = { name: 'mcp_counter__echo', arguments: { n: 1 } };
  const called = await client.callTool({ name: 'call_tool', arguments: echo });
  expect(called.structuredContent).toEqual({ n: 1 });
  await client.close();
});
