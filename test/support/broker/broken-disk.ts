import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Makes every sync of a file by this process fail from now on. */
export function brokenDisk(): Disposable {
  const { fdatasync } = fs;
  const replace = (by: typeof fdatasync): void => {
    fs.fdatasync = by;
    syncBuiltinESMExports();
  };
  replace(
    Object.assign(
      (_: number, done: fs.NoParamCallback) => void setImmediate(done, new Error('EIO: i/o error')),
      { __promisify__: fdatasync.__promisify__ },
    ),
  );
  return { [Symbol.dispose]: () => replace(fdatasync) };
}
