import { realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** A watch on files, which ends when it is disposed. */
export interface FileWatch extends AsyncDisposable {
  /** Replaces the watched paths. */
  setPaths(paths: Iterable<string>): void;
}

/** The options of {@link watchFiles}. */
export interface FileWatchOptions {
  /**
   * The time within which successive changes of files count as one, in milliseconds; 300 by default, at least 60. Changes without end are
   * told after four times as long.
   */
  debounceMs?: number;
  onChange: () => void;
  onError: (error: unknown) => void;
  /** Tells by its name whether a file in a watched folder counts; by default none does. */
  isWanted?: (name: string) => boolean;
}

/** The shortest wait before files are read: the watcher drops a change that follows another within 50 ms. */
const shortestDebounceMs = 60;

/**
 * Calls `onChange` after files were changed, created, replaced or removed. A path names a file, or a folder whose `isWanted` files count;
 * neither has to exist. Resolves when the watch is active. It watches the folders around the paths, because editors replace files.
 */
export async function watchFiles(
  paths: Iterable<string>,
  { debounceMs = 300, onChange, onError, isWanted = () => false }: FileWatchOptions,
): Promise<FileWatch> {
  const { watch } = await import('chokidar');
  let named = withTargets(paths);
  let folders = foldersOf(named);
  const waitMs = Math.max(debounceMs, shortestDebounceMs);
  let timer: NodeJS.Timeout | undefined;
  let firstAt: number | undefined;
  const tell = (): void => {
    firstAt = undefined;
    onChange();
  };
  const counts = (path: string): boolean =>
    named.has(path) || (named.has(dirname(path)) && isWanted(basename(path)));
  const watcher = watch([...folders], {
    depth: 1,
    ignoreInitial: true,
    ignored: (path) => !folders.has(path) && !counts(path),
  });
  watcher.on('all', (_, path) => {
    if (!counts(path)) return;
    firstAt ??= performance.now();
    clearTimeout(timer);
    // A file that changes all the time must not keep the changes of another from being told.
    timer = setTimeout(tell, Math.min(waitMs, Math.max(0, firstAt + 4 * waitMs - performance.now())));
  });
  watcher.on('error', onError);
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return {
    setPaths: (next) => {
      const all = withTargets(next);
      if (isDeepStrictEqual(all, named)) return;
      const before = folders;
      named = all;
      folders = foldersOf(all);
      // A folder that stays is added again: it may hold a file that was ignored until now.
      watcher.unwatch([...before]);
      watcher.add([...folders]);
    },
    [Symbol.asyncDispose]: async () => {
      await watcher.close();
      clearTimeout(timer);
    },
  };
}

/** Makes paths absolute and adds the targets of links: a mounted configuration changes by its link. */
function withTargets(paths: Iterable<string>): Set<string> {
  const all = new Set([...paths].map((path) => resolve(path)));
  for (const path of [...all]) {
    try {
      all.add(realpathSync(path));
    } catch {
      // It does not exist now, and may be created.
    }
  }
  return all;
}

function foldersOf(paths: ReadonlySet<string>): Set<string> {
  return new Set([...paths].map((path) => dirname(path)));
}
