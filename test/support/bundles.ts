import { execFile } from 'node:child_process';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const weekMs = 7 * 24 * 60 * 60 * 1000;

/** Bundles the command, so that tests start what users start, and the packages for the programs of the tests. */
export default async function prepare(): Promise<void> {
  const { NODE_COMPILE_CACHE: compiled } = process.env;
  const scripts = ['../../scripts/bundle.mjs', '../../scripts/bundle-packages.mjs'];
  const run = promisify(execFile);
  await Promise.all([
    ...scripts.map((script) => run(process.execPath, [fileURLToPath(new URL(script, import.meta.url))])),
    compiled === undefined ? undefined : removeOldFiles(compiled),
  ]);
}

/** Each build leaves compiled code under names of its own. Code that is removed and still needed is compiled again. */
async function removeOldFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((each) => each.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > weekMs) await rm(file, { force: true });
  }
}
