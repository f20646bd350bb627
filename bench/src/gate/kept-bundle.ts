import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { UsageError } from '../options.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside `node_modules`, because a bundle looks there for the modules that it does not contain. */
const kept = join(root, 'node_modules/.cache/gate');
const run = promisify(execFile);

/** Returns the full name of a commit. Throws {@link UsageError} if this clone lacks it. `namedBy` says who asks for it. */
export async function commitNamed(name: string, namedBy: string): Promise<string> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  const found = await run('git', args, { cwd: root }).catch((cause) => {
    throw new UsageError(
      `${namedBy} names the commit '${name}', which this clone lacks${isMissing(cause) ? ', as git is not installed' : ''}.
A clone that is not shallow has all of them: git fetch --unshallow   (or only this one: git fetch origin ${name})`,
      { cause },
    );
  });
  return found.stdout.trim();
}

export interface BuildOptions {
  signal: AbortSignal;
  tell: (line: string) => void;
}

/**
 * Returns the command of the bundle of a commit. If it is not kept yet, it is built from a checkout with the dependencies of that commit,
 * in a temporary directory.
 */
export async function keptCommand(commit: string, { signal, tell }: BuildOptions): Promise<string> {
  const folder = join(kept, commit);
  if (existsSync(folder)) return commandIn(folder);
  tell(`building the bundle of ${commit}, once; it is kept in ${folder}`);
  await using opened = new AsyncDisposableStack();
  const checkout = await mkdtemp(join(tmpdir(), 'signalbox-gate-base-'));
  opened.defer(() => rm(checkout, { recursive: true, force: true }));
  await run('git', ['worktree', 'add', '--detach', checkout, commit], { cwd: root });
  opened.defer(() => run('git', ['worktree', 'remove', '--force', checkout], { cwd: root }).then());
  signal.throwIfAborted();
  await runIn(checkout, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], signal);
  const built = opened.use(await bundled(checkout, signal));
  await rename(built.folder, folder).catch((cause) => {
    // Another run may have kept the same bundle meanwhile: that one is as good.
    if (!existsSync(folder)) throw cause;
  });
  return commandIn(folder);
}

/** Bundles this checkout. The bundle stays as it is until it is disposed, also if the checkout is built again meanwhile. */
export async function currentCommand({
  signal,
  tell,
}: BuildOptions): Promise<AsyncDisposable & { command: string }> {
  tell('building the bundle of this checkout');
  const built = await bundled(root, signal);
  return { command: commandIn(built.folder), [Symbol.asyncDispose]: () => built[Symbol.asyncDispose]() };
}

/** Bundles the command of a checkout into a new folder, which lies as deep as that of the other side. */
async function bundled(checkout: string, signal: AbortSignal): Promise<AsyncDisposable & { folder: string }> {
  await using opened = new AsyncDisposableStack();
  await mkdir(kept, { recursive: true });
  const folder = await mkdtemp(join(kept, '.new-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await runIn(checkout, process.execPath, ['scripts/bundle.mjs', '--to', join(folder, 'bundle')], signal);
  // The modules of a bundle read the manifest two levels above them.
  for (const file of ['package.json', 'bin']) {
    await cp(join(checkout, 'apps/cli', file), join(folder, file), { recursive: true });
  }
  const resources = opened.move();
  return { folder, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

function commandIn(folder: string): string {
  return join(folder, 'bin/signalbox.js');
}

async function runIn(checkout: string, program: string, args: string[], signal: AbortSignal): Promise<void> {
  // A script of npm tells its children about the package whose script it is; the checkout may be another one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  await run(program, args, { cwd: checkout, env, signal });
}

function isMissing(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === 'ENOENT';
}
