import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../external-program.ts';

/** Makes a directory that is removed when it is disposed. */
export async function temporaryDirectory(name: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), `signalbox-growth-${name}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Copies the files of a stopped broker, and waits until they are on disk. */
export async function copyDataDirectory(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { mode: 0o700 });
  for (const name of await readdir(from)) await copyFile(join(from, name), join(to, name));
  await settleDisk();
}

/** Writes the page cache to disk, so that this does not happen during the fsyncs of the next measurement. */
export async function settleDisk(): Promise<void> {
  await runProgram({ command: 'sync', args: [] });
}
