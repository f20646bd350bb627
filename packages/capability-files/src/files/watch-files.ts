import { once } from 'node:events';
import { basename, dirname, resolve } from 'node:path';
import { messageOf } from '@signalbox/protocol';
import { watch } from 'chokidar';
import { isCapabilityFile } from './load-file.ts';

/** The watcher drops a change that follows another within 50 ms, so files are read only after that. */
const shortestDebounceMs = 60;

/** The options of {@link watchCapabilityFiles}. */
export interface FileWatchOptions {
  /** How long files must have been quiet before `onChange` is called; at least 60 ms. */
  debounceMs: number;
  onChange: () => void;
  onError: (message: string) => void;
}

/**
 * Watches capability files, given as paths of files and folders, which need not exist yet. Resolves when it watches;
 * disposing the result ends that.
 */
export async function watchCapabilityFiles(
  paths: readonly string[],
  { debounceMs, onChange, onError }: FileWatchOptions,
): Promise<AsyncDisposable> {
  let timer: NodeJS.Timeout | undefined;
  const named = new Set(paths.map((path) => resolve(path)));
  // A path that does not exist yet, or no longer, is watched from its parent.
  const parents = new Set([...named].map((path) => dirname(path)));
  const isCapability = (path: string) =>
    named.has(path) || (named.has(dirname(path)) && isCapabilityFile(basename(path)));
  const watcher = watch([...parents], {
    ignoreInitial: true,
    depth: 1,
    ignored: (path) => !parents.has(resolve(path)) && !isCapability(resolve(path)),
  });
  watcher.on('all', (_event, path) => {
    if (!isCapability(resolve(path))) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, Math.max(debounceMs, shortestDebounceMs));
  });
  watcher.on('error', (error) => onError(messageOf(error)));
  await once(watcher, 'ready');
  return {
    async [Symbol.asyncDispose]() {
      await watcher.close();
      clearTimeout(timer);
    },
  };
}
