import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileCache, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { copied } from '../support/cli/client-files.ts';
import { jsonOf } from '../support/cli/command-line.ts';
import { serverScript, startWorkspace } from '../support/cli/workspace.ts';

test('up serves the tools that each client file leaves, with the variables of its envFile, and no tool of a server that is off.', async () => {
  let documents = '';
  await using programs = await tempDir();
  const bin = programs.path;
  // The real server under the name that the files have; it leaves a trace of its variables.
  await writeFile(
    join(bin, 'mcp-server-filesystem'),
    `#!/bin/sh
test -n "$API_KEY" && echo "$API_KEY $LOG_LEVEL" > "${bin}/variables"
NODE_COMPILE_CACHE="${compileCache().NODE_COMPILE_CACHE ?? ''}" exec "${process.execPath}" "${serverScript('@modelcontextprotocol/server-filesystem')}" "$@"
`,
    { mode: 0o755 },
  );
  await using workspace = await startWorkspace(
    async (directory) => {
      documents = join(await realpath(directory), 'files');
      await copied(directory, documents);
      await mkdir(join(directory, 'state'), { mode: 0o700 });
      const named = [
        'codex/config.toml',
        'copilot/mcp-config.json',
        'gemini/settings.json',
        'config/amp/settings.json',
      ];
      return JSON.stringify({
        broker: { listen: '127.0.0.1:0', data: './state' },
        mcpConfig: [...named.map((name) => `home/.${name}`), 'shop/.vscode/mcp.json'],
        mcpServers: { vscode: { excludeTools: ['*_file', '*_files', '*director*'] } },
        roles: { reader: { tools: ['*'] } },
      });
    },
    { env: { SHOP_LOG: 'debug', PATH: `${bin}:${process.env.PATH}` } },
  );
  const reader = await workspace.agent('rosa', 'reader');
  const { tools } = jsonOf(await workspace.run(['tools', 'list', '--json'], reader.env)) as {
    tools: { name: string }[];
  };
  const offered = tools.map(({ name }) => name);
  const of = (server: string) =>
    offered.filter((name) => name.startsWith(`mcp_${server}__`)).map((name) => name.split('__')[1]);
  expect(of('codex')).toEqual(expect.arrayContaining(['read_text_file', 'write_file']));
  expect(of('copilot')).toEqual(['list_directory', 'read_text_file']);
  expect(of('gemini_user')).toEqual(['read_text_file']);
  expect(of('amp').every((name) => name?.startsWith('read_'))).toBe(true);
  expect(of('vscode')).toEqual(['get_file_info']);
  expect(new Set(offered.map((name) => name.split('__')[0]))).toEqual(
    new Set(['mcp_codex', 'mcp_copilot', 'mcp_gemini_user', 'mcp_amp', 'mcp_vscode']),
  );
  expect(await readFile(join(bin, 'variables'), 'utf8')).toBe('of-the-env-file info\n');
  const call = async (tool: string, args: object) =>
    await workspace.run(['tools', 'call', tool, JSON.stringify(args), '--json'], reader.env);
  const read = await call('mcp_gemini_user__read_text_file', { path: join(documents, 'hello.txt') });
  expect(read.stdout).toContain('hello from a file');
  const refused = await call('mcp_gemini_user__write_file', {
    path: join(documents, 'new.txt'),
    content: 'x',
  });
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'tool_not_found' } });
});
