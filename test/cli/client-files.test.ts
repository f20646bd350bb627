import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkConfigText } from '@signalbox/daemon/config';
import { tempDir } from '@signalbox/testing';
import { clientSnippet, snippetClients } from '@signalbox/worker/internal';
import { expect, test } from 'vitest';
import { copied, files } from '../support/cli/client-files.ts';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

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
