import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';

test('init --from refuses a file that cannot be used, with its line, and writes nothing; without any file it writes one to fill in.', async () => {
  await using home = await tempDir();
  const at = { cwd: home.path, env: { HOME: home.path, XDG_STATE_HOME: join(home.path, 'state') } };
  await writeFile(join(home.path, 'broken.json'), '{ "mcpServers": [');
  const refused = await signalbox(['init', '--from', 'broken.json'], at);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('broken.json:1') });
  expect(refused.stderr).not.toContain('signalbox.yaml');
  await writeFile(join(home.path, 'empty.json'), '{ "mcpServers": {} }');
  const useless = await signalbox(['init', '--from', 'empty.json'], at);
  expect(useless).toMatchObject({ code: 2, stderr: expect.stringContaining('it holds no servers') });
  const gone = await signalbox(['init', '--from', 'gone.json'], at);
  expect(gone.stderr).toContain('--from gone.json cannot be used: there is no file ');
  expect(gone.stderr).not.toContain('signalbox.yaml');
  const folder = await signalbox(['init', '--from', '.'], at);
  expect(folder).toMatchObject({ code: 2, stderr: expect.stringContaining(' is a folder') });
  await symlink('loop.json', join(home.path, 'loop.json'));
  const loop = await signalbox(['init', '--from', 'loop.json'], at);
  expect(loop).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is a link that leads back to itself'),
  });
  await rm(join(home.path, 'loop.json'));
  expect(await readdir(home.path)).toEqual(['broken.json', 'empty.json']);
  // No user can read a folder as a file.
  await mkdir(join(home.path, '.cursor/mcp.json'), { recursive: true });
  const empty = await signalbox(['init'], at);
  expect(empty).toMatchObject({ code: 0, stderr: expect.stringContaining('.cursor/mcp.json is not used: ') });
  expect(empty.stdout).toContain('no MCP servers yet');
  expect(empty.stdout).toContain('signalbox up');
  expect(await readFile(join(home.path, '.gitignore'), 'utf8')).toContain('*.token\n');
});

test('From a git repository init writes the user’s own configuration, so that agents work in the repository without a warning, and all folders use it.', async () => {
  await using base = await tempDir();
  const home = await realpath(base.path);
  const env = { HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'own') };
  const [repository, elsewhere] = [join(home, 'src', 'app'), join(home, 'elsewhere')];
  for (const folder of [join(repository, '.git'), join(repository, 'lib'), elsewhere])
    await mkdir(folder, { recursive: true });
  const server = { command: process.execPath, args: ['server.js'] };
  await writeFile(join(repository, '.mcp.json'), JSON.stringify({ mcpServers: { tools: server } }));
  const file = join(env.XDG_CONFIG_HOME, 'signalbox', 'signalbox.yaml');

  const written = await signalbox(['init', '--yes', '--json'], { cwd: repository, env });
  expect(jsonOf(written)).toMatchObject({
    file,
    mcp_config: [join(repository, '.mcp.json')],
    servers: ['tools'],
    warnings: [expect.stringContaining(`can change ${join(repository, '.mcp.json')}`)],
  });
  expect(await readdir(repository)).toEqual(['.git', '.gitignore', '.mcp.json', 'lib']);
  const again = await signalbox(['init'], { cwd: join(repository, 'lib'), env });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining(`${file} exists already`) });
  expect(again.stderr).toContain('all your git repositories use it');

  await writeFile(join(repository, '.mcp.json'), '{}');
  await appendFile(file, '  listen: 127.0.0.1:0\n');
  await using up = await startDaemon(['up', '--no-face'], { cwd: repository, env });
  expect(up.ready).toBeDefined();
  const runThere = () =>
    signalbox(['worker', 'run', '--agent', 'rosa', '--role', 'developer', '--json', '--', 'true'], {
      cwd: repository,
      env: { ...env, XDG_RUNTIME_DIR: '' },
    });
  const run = await runThere();
  expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining('rosa') });
  expect(run.stderr).not.toContain('workspace_exposed');
  // One that the repository brings is used there, with the warning and its cure.
  await writeFile(join(repository, 'signalbox.yaml'), '{}', { mode: 0o644 });
  const exposed = (await runThere()).stderr;
  expect(exposed).toContain('workspace_exposed');
  expect(exposed).toContain(`move the configuration to ${join(env.XDG_CONFIG_HOME, 'signalbox')}`);
  const seen = jsonOf(await signalbox(['status', '--json'], { cwd: elsewhere, env }));
  expect(seen).toMatchObject({ orchestrator: { state: 'ready' } });

  await chmod(file, 0o666);
  const refused = await signalbox(['status'], { cwd: elsewhere, env });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`${file} is not used`) });
});
