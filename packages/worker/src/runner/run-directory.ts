import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';

const othersMayWrite = 0o022;
const sticky = 0o1000;

/** A directory to make run directories in. `mine`: it belongs to this user, and is made if it does not exist. */
export interface RunRoot {
  path: string;
  mine?: boolean;
}

/**
 * Returns the directories in which run directories may be made, best first: `$XDG_RUNTIME_DIR`, this user's cache, and the
 * temporary directory, which comes last because file servers are often given it.
 */
export function runRoots(env: Readonly<Record<string, string | undefined>>): RunRoot[] {
  const { XDG_RUNTIME_DIR: runtime, XDG_CACHE_HOME: cache, HOME: home } = env;
  const own = cache ? join(cache, 'signalbox') : home ? join(home, '.cache', 'signalbox') : '';
  const roots: RunRoot[] = [{ path: runtime ?? '' }, { path: own, mine: true }, { path: tmpdir() }];
  return roots.filter(({ path }) => isAbsolute(path));
}

/**
 * Makes an empty directory (0700) under the first root where no other user can replace it. `strict`: sticky directories like
 * /tmp don't count as safe. Throws `SignalboxError` `usage` if there is none.
 */
export async function createRunDirectory(roots: readonly RunRoot[], strict: boolean): Promise<string> {
  for (const { path, mine } of roots) {
    try {
      if (mine) await mkdir(path, { recursive: true, mode: 0o700 });
      const real = await realpath(path);
      if (await isSafe(real, strict)) return await mkdtemp(join(real, 'signalbox-run-'));
    } catch {
      // It is missing, and we may not make it: try the next one.
    }
  }
  const why = strict ? 'others may write to a directory above each' : 'each can be changed by others';
  throw new SignalboxError(
    'usage',
    `no private place for the token: ${roots.map(({ path }) => path).join(', ')}: ${why}`,
    {
      details: {
        hint: 'set XDG_RUNTIME_DIR to a directory that only its user can write to, all above it included',
      },
    },
  );
}

/** Writes a new file that only this user can read. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: 'wx' });
}

/** Writes a file as {@link writePrivateFile}, in place of one that is there. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await rm(path, { force: true });
  await writePrivateFile(path, text);
}

/** Removes a run directory with everything in it. */
export async function removeRunDirectory(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

/**
 * Returns true if no other user can replace the directory or one above it. In a sticky directory only a file's owner can rename or remove
 * it.
 */
async function isSafe(directory: string, strict: boolean): Promise<boolean> {
  const { mode, uid } = await stat(directory);
  const open = (mode & othersMayWrite) !== 0 && (strict || (mode & sticky) === 0);
  if (open || (uid !== 0 && uid !== process.getuid?.())) return false;
  return dirname(directory) === directory || isSafe(dirname(directory), strict);
}
