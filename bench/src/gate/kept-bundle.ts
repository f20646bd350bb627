import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { messageOf } from '@signalbox/protocol';
import { UsageError } from '../options.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside `node_modules`, because a bundle looks there for the modules that it does not contain. */
const kept = join(root, 'node_modules/.cache/gate');
const run = promisify(execFile);

/** The command of the bundle of this checkout, as `scripts/bundle.mjs` made it. */
export const ownCommand = join(root, 'apps/cli/bin/signalbox.js');

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

/**
 * Returns the command of the bundle of a commit. If it is not kept yet, it is built from a checkout with the dependencies of that commit,
 * in a temporary directory.
 */
export async function keptCommand(
  commit: string,
  { signal, tell }: { signal: AbortSignal; tell: (line: string) => void },
): Promise<string> {
  const folder = join(kept, commit);
  const command = join(folder, 'bin/signalbox.js');
  if (existsSync(command)) return command;
  tell(`building the bundle of ${commit}, once; it is kept in ${folder}`);
  await using opened = new AsyncDisposableStack();
  const checkout = await mkdtemp(join(tmpdir(), 'signalbox-gate-base-'));
  opened.defer(() => rm(checkout, { recursive: true, force: true }));
  await run('git', ['worktree', 'add', '--detach', checkout, commit], { cwd: root });
  opened.defer(() => run('git', ['worktree', 'remove', '--force', checkout], { cwd: root }).then());
  await mkdir(kept, { recursive: true });
  const built = await mkdtemp(join(kept, '.new-'));
  opened.defer(() => rm(built, { recursive: true, force: true }));
  // A script of npm tells its children about the package whose script it is; the checkout is another one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  const there = { cwd: checkout, env, signal };
  try {
    signal.throwIfAborted();
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], there);
    await run(process.execPath, ['scripts/bundle.mjs', '--to', join(built, 'bundle')], there);
    // The modules of a bundle read the manifest two levels above them.
    for (const file of ['package.json', 'bin']) {
      await cp(join(checkout, 'apps/cli', file), join(built, file), { recursive: true });
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`the bundle of ${commit} could not be built: ${messageOf(cause)}`, { cause });
  }
  await rename(built, folder).catch((cause) => {
    // Another run may have kept the same bundle meanwhile: that one is as good.
    if (!existsSync(command)) throw cause;
  });
  return command;
}

function isMissing(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === 'ENOENT';
}
