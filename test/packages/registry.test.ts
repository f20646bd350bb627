import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv } from '../support/cli/command-line.ts';
import { publishedPackages } from '../support/packages/documented-programs.ts';
import { InstalledProject, packAll, runProgram } from '../support/packages/installed-project.ts';

const verdaccio = 'verdaccio@6.10.4';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a registry that keeps what is published to it, and asks the usual one for everything else. */
async function startRegistry(base: string): Promise<AsyncDisposable & { url: string }> {
  const project = new InstalledProject(base, 'registry');
  // It asks for this by a tag, which mirrors of the registry may lack.
  const overrides = { 'node-fetch': '2.7.0' };
  project.write('package.json', JSON.stringify({ name: 'registry', private: true, overrides }));
  await project.install([verdaccio]);
  const { stdout } = await runProgram('npm', ['config', 'get', 'registry'], { cwd: base, env: process.env });
  const config = {
    storage: './storage',
    auth: { htpasswd: { file: './htpasswd' } },
    uplinks: { others: { url: stdout.trim(), maxage: '60m' } },
    packages: {
      ...Object.fromEntries(
        ['signalbox', '@signalbox/*'].map((name) => [name, { access: '$all', publish: '$all' }]),
      ),
      '**': { access: '$all', proxy: 'others' },
    },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  };
  project.write('config.yaml', JSON.stringify(config));
  const url = `http://127.0.0.1:${await freePort()}/`;
  const bin = join(project.path, 'node_modules/.bin/verdaccio');
  const child = spawn(bin, ['--config', 'config.yaml', '--listen', url], {
    cwd: project.path,
    env: process.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  for await (const line of createInterface(child.stdout)) if (line.includes('http address')) break;
  child.stdout.resume();
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill();
      await closed;
    },
  };
}

test('Packages that were published are installed by name, in an empty home: npm install -g, npx and the demo.', async () => {
  await using directory = await tempDir();
  const { path } = directory;
  await using registry = await startRegistry(path);
  const home = join(path, 'home');
  await mkdir(home);
  const { host } = new URL(registry.url);
  const userconfig = join(home, '.npmrc');
  await writeFile(userconfig, `//${host}/:_authToken=nobody\n`);
  const npmEnv = {
    HOME: home,
    npm_config_registry: registry.url,
    npm_config_userconfig: userconfig,
    npm_config_cache: join(path, 'cache'),
    npm_config_prefix: join(path, 'global'),
  };
  const env = cleanEnv({ PATH: process.env.PATH ?? '', ...npmEnv });
  const run = (command: string, ...args: string[]) => runProgram(command, args, { cwd: home, env });
  for (const tarball of await packAll(join(path, 'tarballs')))
    expect(await run('npm', 'publish', '--access', 'public', tarball)).toMatchObject({ code: 0 });

  const { version } = publishedPackages().find(({ manifest }) => manifest.name === 'signalbox')!.manifest;
  expect(await run('npm', 'install', '--global', 'signalbox')).toMatchObject({ code: 0, stderr: '' });
  const command = join(path, 'global/bin/signalbox');
  expect(await run(command, '--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  const demo = await run('npx', '--yes', 'signalbox', 'demo');
  expect(demo).toMatchObject({ code: 0, stdout: expect.stringContaining('points held') });
  expect(demo.stdout).toContain('being installed from npm');
});
