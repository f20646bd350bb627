import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const config = ['worker', 'config', '--client'];

test('with --http no token is needed, and what makes no sense is refused with a word on what to do', async () => {
  await using directory = await tempDir();
  await writeFile(join(directory.path, 'rosa.token'), `sbx_rosa~${'s'.repeat(43)}`);
  const run = (...args: string[]) => signalbox([...config, ...args], { cwd: directory.path });
  const [face, unknown, other] = [
    await run('claude', '--http', 'http://127.0.0.1:7421', '--json', '--allow'),
    await run('cluade', '--http', 'http://127.0.0.1:7421'),
    await run('cursor', '--token-file', 'rosa.token', '--agent', 'walt'),
  ];
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
