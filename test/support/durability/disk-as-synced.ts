import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The content that some files would have after a power cut: their content when the last finished sync began. */
export interface DiskAsSynced extends Disposable {
  /** Returns the contents by name. A file that was never synced is missing. */
  files(): ReadonlyMap<string, Buffer>;
}

/**
 * Watches this process sync files with `fdatasync`, and remembers what these calls brought to the disk. A power cut may
 * take everything that was written later.
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
