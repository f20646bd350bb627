import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
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

test('with --http no token is needed, and what makes no sense is refused with a word on what to do', async () => {
  await using directory = await tempDir();
  await writeFile(join(directory.path, 'rosa.token'), `sbx_rosa~${'s'.repeat(43)}`);
  const run = (...args: string[]) => signalbox([...config, ...args], { cwd: directory.path });
  const [face, unknown, other] = await Promise.all([
    run('claude', '--http', 'http://127.0.0.1:7421', '--json', '--allow'),
    run('cluade', '--http', 'http://127.0.0.1:7421'),
    run('cursor', '--token-file', 'rosa.token', '--agent', 'walt'),
  ]);
  expect(jsonOf(face)).toEqual({
    client: 'claude',
    file: '.mcp.json',
    format: 'json',
    snippet: expect.stringContaining('"url": "http://127.0.0.1:7421/mcp"'),
    permissions: [
      {
        file: '.claude/settings.local.json',
        format: 'json',
        snippet: expect.stringContaining('"mcp__signalbox"'),
      },
    ],
    notes: expect.arrayContaining([expect.stringContaining('without asking a person')]),
  });
  expect([unknown, other].map(({ code, stdout }) => [code, stdout])).toEqual(Array(2).fill([2, '']));
  expect(unknown.stderr).toContain("no client 'cluade' (did you mean 'claude'?)");
  expect(unknown.stderr).toContain(
    'there are: claude, codex, copilot, opencode, kilo, gemini, qwen, cline, cursor, vscode',
  );
  expect(other.stderr).toContain("is for 'rosa', not for 'walt'");
});

test('a snippet for a file that mcpConfig names comes with a warning, and the check leaves that entry out', async () => {
  await using directory = await tempDir();
  const run = (...args: string[]) => signalbox(args, { cwd: directory.path });
  const file = join(directory.path, '.mcp.json');
  await writeFile(join(directory.path, 'signalbox.yaml'), 'mcpConfig: ./.mcp.json\n');
  await writeFile(file, '{ "mcpServers": {} }');
  const { stdout, stderr } = await run(...config, 'claude', '--http', 'http://127.0.0.1:7421');
  expect(stderr).toContain('signalbox.yaml imports the servers of .mcp.json');
  expect(stderr).toContain('name that one in mcpConfig');
  await writeFile(file, stdout);
  const checked = await run('config', 'check');
  expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('0 MCP servers') });
  expect(checked.stderr).toMatch(
    /^warning: \.mcp\.json:3: mcpServers\.signalbox: is Signalbox itself .*left out\n$/,
  );
});
