import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** A watch on files, which ends when it is disposed. */
export interface FileWatch extends AsyncDisposable {
  /** Watches these files instead, by their absolute paths; a file may be missing. */
  setFiles(files: Iterable<string>): void;
}

/**
 * Calls `onChange` after any of the files was changed, created, replaced or removed, once for changes that follow each
 * other within `debounceMs`. Resolves when the watch is on. It watches folders, because editors replace files.
 */
export async function watchFiles(
  files: Iterable<string>,
  onChange: () => void,
  { debounceMs = 300, onError = () => {} }: { debounceMs?: number; onError?: (error: unknown) => void } = {},
): Promise<FileWatch> {
  const { watch } = await import('chokidar');
  let wanted = withTargets(files);
  let folders = foldersOf(wanted);
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch([...folders], {
    depth: 0,
    ignoreInitial: true,
    ignored: (path) => !wanted.has(path) && !folders.has(path),
  });
  watcher.on('all', (_, path) => {
    if (!wanted.has(path)) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, debounceMs);
  });
  watcher.on('error', onError);
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return {
    setFiles: (next) => {
      const all = withTargets(next);
      if (isDeepStrictEqual(all, wanted)) return;
      const before = folders;
      wanted = all;
      folders = foldersOf(all);
      // A folder that stays is added again: it may hold a file that was ignored until now.
      watcher.unwatch([...before]);
      watcher.add([...folders]);
    },
    [Symbol.asyncDispose]: async () => {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}

/** Adds the targets of links: a mounted configuration changes by its link. */
function withTargets(files: Iterable<string>): Set<string> {
  const all = new Set(files);
  for (const file of [...all]) {
    try {
      all.add(realpathSync(file));
    } catch {
      // It is not there now, and may come.
    }
  }
  return all;
}

function foldersOf(files: ReadonlySet<string>): Set<string> {
  return new Set([...files].map((file) => dirname(file)));
}
