import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** What would be left of some files after a power cut: as they were when a sync of one of them began, once it has ended. */
export interface DiskAsSynced extends Disposable {
  /** Their contents by name; no file for what was never synced. */
  files(): ReadonlyMap<string, Buffer>;
}

/**
 * Watches this process sync files with `fdatasync`, and remembers what these calls brought to the disk. Whatever was written
 * since is what a power cut may take.
 */
export function watchSyncs(names: readonly string[]): DiskAsSynced {
  const { fdatasync, fdatasyncSync } = fs;
  let synced: ReadonlyMap<string, Buffer> = new Map();
  const contents = (): ReadonlyMap<string, Buffer> =>
    new Map(names.filter((name) => fs.existsSync(name)).map((name) => [name, fs.readFileSync(name)]));
  const replace = (with_: Pick<typeof fs, 'fdatasync' | 'fdatasyncSync'>): void => {
    Object.assign(fs, with_);
    syncBuiltinESMExports();
  };
  const watched = ((handle, done) => {
    const begun = contents();
    fdatasync(handle, (error) => {
      if (!error) synced = begun;
      done(error);
    });
  }) as typeof fdatasync;
  const watchedNow = (handle: number): void => {
    const begun = contents();
    fdatasyncSync(handle);
    synced = begun;
  };
  replace({ fdatasync: Object.assign(watched, fdatasync), fdatasyncSync: watchedNow });
  return {
    files: () => synced,
    [Symbol.dispose]: () => replace({ fdatasync, fdatasyncSync }),
  };
}
