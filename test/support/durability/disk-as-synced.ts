import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** The content that some files would have after a power cut: their content when the last finished sync began. */
export interface DiskAsSynced extends Disposable {
  /** Returns the contents by name. A file that was never synced is missing. */
  files(): ReadonlyMap<string, Buffer>;
  /** The number of successful syncs of these files. */
  readonly syncs: number;
  /** Holds back all later syncs until the returned function is called. */
  hold(): () => void;
}

/**
 * Watches this process sync files with `fdatasync`, and remembers what these calls brought to the disk. A power cut may
 * take everything that was written later.
 */
export function watchSyncs(names: readonly string[]): DiskAsSynced {
  const { fdatasync, fdatasyncSync } = fs;
  let synced: ReadonlyMap<string, Buffer> = new Map();
  let syncs = 0;
  let released: Promise<void> | undefined;
  const contents = (): ReadonlyMap<string, Buffer> =>
    new Map(names.filter((name) => fs.existsSync(name)).map((name) => [name, fs.readFileSync(name)]));
  const isWatched = (handle: number): boolean =>
    names.some((name) => fs.statSync(name, { throwIfNoEntry: false })?.ino === fs.fstatSync(handle).ino);
  const ended = (begun: ReadonlyMap<string, Buffer>): void => {
    synced = begun;
    syncs++;
  };
  const replace = (with_: Pick<typeof fs, 'fdatasync' | 'fdatasyncSync'>): void => {
    Object.assign(fs, with_);
    syncBuiltinESMExports();
  };
  const watched = ((handle, done) => {
    if (!isWatched(handle)) return fdatasync(handle, done);
    const begin = (): void => {
      const begun = contents();
      fdatasync(handle, (error) => {
        if (!error) ended(begun);
        done(error);
      });
    };
    if (released) void released.then(begin);
    else begin();
  }) as typeof fdatasync;
  const watchedNow = (handle: number): void => {
    const begun = contents();
    fdatasyncSync(handle);
    if (isWatched(handle)) ended(begun);
  };
  replace({ fdatasync: Object.assign(watched, fdatasync), fdatasyncSync: watchedNow });
  return {
    files: () => synced,
    get syncs() {
      return syncs;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      released = promise;
      return () => {
        released = undefined;
        resolve();
      };
    },
    [Symbol.dispose]: () => replace({ fdatasync, fdatasyncSync }),
  };
}
