import { cp, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkConfigText } from '@signalbox/daemon/config';
import { compileCache, tempDir } from '@signalbox/testing';
import { clientSnippet, snippetClients } from '@signalbox/worker/internal';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { serverScript, startWorkspace } from '../support/cli/workspace.ts';

/**
 * Files that `mcp add` of each client wrote: Claude Code 2.1.332, Codex 0.171.0, Copilot 1.0.102, Gemini CLI 0.61.0, Qwen Code 0.24.4,
 * opencode 1.18.33, Kilo 7.7.9 and Cline 3.0.65. Those of VS Code, Cursor and Amp were written by hand.
 */
const written = fileURLToPath(new URL('../support/client-files/', import.meta.url));
const files = {
  home: [
    '.config/amp/settings.json',
    '.cline/data/settings/cline_mcp_settings.json',
    '.qwen/settings.json',
    '.gemini/settings.json',
    '.copilot/mcp-config.json',
    '.config/kilo/kilo.jsonc',
    '.config/opencode/opencode.jsonc',
    '.codex/config.toml',
    '.claude.json',
  ],
  shop: ['.qwen/settings.json', '.gemini/settings.json', '.vscode/mcp.json', '.cursor/mcp.json', '.mcp.json'],
};

/** Copies the files into a folder, with its project and a folder of documents in place of those that they name. */
async function copied(directory: string, documents: string): Promise<void> {
  await cp(written, directory, { recursive: true });
  await writeFile(join(directory, 'shop/.env'), 'API_KEY=of-the-env-file\nLOG_LEVEL=debug\n');
  for (const [folder, names] of Object.entries(files)) {
    for (const name of names) {
      const path = join(directory, folder, name);
      const text = await readFile(path, 'utf8');
      const own = text
        .replaceAll('/home/rosa/shop', join(directory, 'shop'))
        .replaceAll('/srv/docs', documents);
      await writeFile(path, own, { mode: 0o600 });
    }
  }
}

test('init names the files of every client, in its home and in a project, and says why an entry is left out.', async () => {
  await using home = await tempDir();
  const directory = await realpath(home.path);
  await copied(directory, '/srv/docs');
  const variables = { SHOP_LOG: 'debug', DOCS_TOKEN: 'hush' };
  const env = { HOME: join(directory, 'home'), XDG_STATE_HOME: join(directory, 'state'), ...variables };
  const run = await signalbox(['init', '--yes', '--json'], { cwd: join(directory, 'shop'), env });
  const { mcp_config: mcpConfig, servers, warnings } = jsonOf(run) as Record<string, string[]>;
  expect(mcpConfig).toEqual([
    ...files.home.map((file) => `~/${file}`),
    ...files.shop.map((file) => `./${file}`),
    expect.stringMatching(/^~\/\.claude\.json#\/projects\/~1/),
  ]);
  expect(servers!.filter((name) => !name.endsWith('-docs'))).toEqual([
    ...['amp', 'cline', 'qwen-user', 'gemini-user', 'copilot', 'copilot-off', 'kilo', 'opencode', 'codex'],
    ...['claude', 'qwen-project', 'gemini-project', 'vscode', 'cursor', 'claude-notes'],
  ]);
  expect(servers!.filter((name) => name.endsWith('-docs'))).toHaveLength(7);
  expect(
    warnings!.flatMap((warning) => /([\w-]+)\.[\w.]+: .*; this server is left out$/.exec(warning)?.[1] ?? []),
  ).toEqual(['qwen-sse', 'vscode-docs', 'vscode-sandboxed']);
  expect(await readFile(join(directory, 'shop/signalbox.yaml'), 'utf8')).not.toContain('hush');
});

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

test('The entry of worker config is recognised in the file of each client, and left out.', async () => {
  await using directory = await tempDir();
  const faceCommand = { command: 'signalbox', args: ['worker', 'mcp'], env: {} };
  const cases = snippetClients.flatMap((client) =>
    [{ faceCommand }, { url: 'http://127.0.0.1:7421/mcp' }].map((target) => ({ client, target })),
  );
  for (const { client, target } of cases) {
    const { file, text } = clientSnippet(client, target);
    const path = join(directory.path, file.replace('~/', ''));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    const config = JSON.stringify({ mcpConfig: path });
    const { leftOut, warnings } = await checkConfigText(config, join(directory.path, 'signalbox.yaml'));
    expect({ client, leftOut }).toEqual({ client, leftOut: ['signalbox'] });
    expect(warnings).toEqual([expect.stringContaining('is Signalbox itself')]);
  }
});
