import { once } from 'node:events';
import { basename, dirname, resolve } from 'node:path';
import { messageOf } from '@signalbox/protocol';
import { watch } from 'chokidar';
import { isCapabilityFile } from './capability-files.ts';

/** The watcher drops a change that follows another within 50 ms: nothing may be read before. */
const shortestDebounceMs = 60;

export interface FileWatchOptions {
  /** How long files must have been quiet before `onChange` is called; at least 60 ms. */
  debounceMs: number;
  onChange: () => void;
  onError: (message: string) => void;
}

/** Tells of changes of capability files, given as files and folders, also of those that come to be later. Resolves when it watches. */
export async function watchCapabilityFiles(
  paths: readonly string[],
  { debounceMs, onChange, onError }: FileWatchOptions,
): Promise<AsyncDisposable> {
  let timer: NodeJS.Timeout | undefined;
  const named = new Set(paths.map((path) => resolve(path)));
  // What is not there yet, or not any more, is seen from its parent.
  const parents = new Set([...named].map((path) => dirname(path)));
  const isOurs = (path: string) =>
    named.has(path) || (named.has(dirname(path)) && isCapabilityFile(basename(path)));
  const watcher = watch([...parents], {
    ignoreInitial: true,
    depth: 1,
    ignored: (path) => !parents.has(resolve(path)) && !isOurs(resolve(path)),
  });
  watcher.on('all', (_event, path) => {
    if (!isOurs(resolve(path))) return;
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
