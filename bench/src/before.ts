import { access, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from './external-program.ts';
import { UsageError } from './options.ts';

/** The harness in a checkout's root, whose scripts run that checkout's client and broker. */
export function harnessOf(root: URL): URL {
  return new URL('bench/src/', root);
}

/** The commit of a checkout, with `-dirty` when there is more than that. */
export async function commitOf(root: URL): Promise<string> {
  const args = ['-C', fileURLToPath(root), 'describe', '--always', '--exclude=*', '--dirty'];
  return (await runProgram({ command: 'git', args })).trim();
}

/** Checks another checkout, and compiles and bundles it, so that just its sources run. Throws {@link UsageError} if it cannot take part. */
export async function prepareBefore(root: URL): Promise<void> {
  await compileBefore(root);
  const bundler = new URL('scripts/bundle.mjs', root);
  if (!(await exists(bundler))) return;
  // The bundler finds the sources of a checkout only from there.
  await runProgram({ command: process.execPath, args: [fileURLToPath(bundler)], cwd: fileURLToPath(root) });
}

/** The same without its bundle. */
export async function compileBefore(root: URL): Promise<void> {
  const dir = fileURLToPath(root);
  if (!(await exists(new URL('load-process.ts', harnessOf(root))))) {
    throw new UsageError(
      `--before: ${dir} is not a checkout of this repository; 'git worktree add ${dir} <commit>' makes one`,
    );
  }
  const compiler = new URL('node_modules/typescript/bin/tsc', root);
  if (!(await exists(compiler))) {
    throw new UsageError(`--before: ${dir} has no dependencies; run 'npm ci' there`);
  }
  const broker = await realpath(new URL('node_modules/@signalbox/broker', root)).catch(() => 'nowhere');
  const itsOwn = await realpath(new URL('packages/broker', root));
  if (broker !== itsOwn) {
    throw new UsageError(
      `--before: ${dir} would run other code than its own, because node_modules/@signalbox/broker there leads to ${broker}; run 'npm ci' there`,
    );
  }
  await runProgram({ command: process.execPath, args: [fileURLToPath(compiler), '-b', dir] });
}

async function exists(file: URL): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
