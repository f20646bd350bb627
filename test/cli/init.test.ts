import { mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const secret = 'a-secret-of-the-imported-file';

/** A home directory with a project in it, and the files of two clients. */
async function clients(path: string): Promise<{ project: string; env: Record<string, string> }> {
  const home = await realpath(path);
  const server = { command: process.execPath, args: ['server.js'], env: { API_KEY: secret } };
  const projects = { [join(home, 'project')]: { mcpServers: { local: server } }, '/elsewhere': {} };
  const files = {
    '.claude.json': JSON.stringify({ mcpServers: { memory: server, files: server }, projects }),
    '.cursor/mcp.json': JSON.stringify({ mcpServers: {} }),
    'project/.vscode/mcp.json': `{ // with a comment\n "servers": { "files": ${JSON.stringify(server)} } }`,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await writeFile(join(home, name), text, { mode: 0o600 });
  }
  return { project: join(home, 'project'), env: { HOME: home, XDG_STATE_HOME: join(home, 'state') } };
}

test('init names the files of other clients, copies nothing out of them, and never replaces what it wrote.', async () => {
  await using home = await tempDir();
  const { project, env } = await clients(home.path);
  const at = { cwd: project, env };

  const unasked = await signalbox(['init', '--json'], at);
  expect(unasked.code).toBe(2);
  expect(jsonOf(unasked)).toMatchObject({
    error: {
      code: 'usage',
      found: [{ path: '~/.claude.json' }, { path: './.vscode/mcp.json' }, { servers: ['local'] }],
    },
  });
  expect(await readdir(project)).toEqual(['.vscode']);

  await writeFile(join(project, '.gitignore'), 'node_modules');
  expect(jsonOf(await signalbox(['init', '--yes', '--json'], at))).toEqual({
    file: 'signalbox.yaml',
    mcp_config: [
      '~/.claude.json',
      './.vscode/mcp.json',
      expect.stringMatching(/^~\/\.claude\.json#\/projects\/~1/),
    ],
    servers: ['memory', 'files', 'local'],
    gitignore: 'extended',
    warnings: [],
  });
  const text = await readFile(join(project, 'signalbox.yaml'), 'utf8');
  expect(text).not.toContain(secret);
  // Agents that come from another client lose nothing.
  expect(text).toContain(`developer:\n    tools: ["*"]\n    prompts: ["*"]\n    resources: ["*:*"]\n`);
  expect((await stat(join(project, 'signalbox.yaml'))).mode & 0o022).toBe(0);
  expect((await readFile(join(project, '.gitignore'), 'utf8')).split('\n')).toEqual([
    'node_modules',
    expect.stringContaining('#'),
    '*.token',
    '',
  ]);
  expect(jsonOf(await signalbox(['config', 'check', '--json'], at))).toMatchObject({
    ok: true,
    roles: ['developer', 'reader'],
    unlisted: 'deny',
  });

  const again = await signalbox(['init', '--no-import'], at);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('signalbox.yaml exists already') });
  expect(await readFile(join(project, 'signalbox.yaml'), 'utf8')).toBe(text);
});

test('init writes no configuration that commands in the repository would not read.', async () => {
  await using base = await tempDir();
  const home = await realpath(base.path);
  const repository = join(home, 'src', 'app');
  await mkdir(join(repository, '.git'), { recursive: true });
  const above = join(home, 'src', 'signalbox.yaml');
  await writeFile(above, '{}', { mode: 0o644 });
  const at = { cwd: repository, env: { HOME: home } };
  const hidden = await signalbox(['init'], at);
  expect(hidden).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`commands in this folder use ${above}`),
  });
  await writeFile(join(repository, 'signalbox.yaml'), '{}');
  const brought = await signalbox(['init'], at);
  expect(brought).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('signalbox.yaml exists already'),
  });
  expect(await readdir(home)).toEqual(['src']);
});
