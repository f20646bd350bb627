import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Holds up what the disk is asked to sync, until it may go on. */
export function slowDisk(): Disposable & { goOn(): void } {
  const { fdatasync } = fs;
  const held: (() => void)[] = [];
  let isHeld = true;
  const replace = (by: typeof fdatasync): void => {
    fs.fdatasync = by;
    syncBuiltinESMExports();
  };
  const goOn = (): void => {
    isHeld = false;
    for (const sync of held.splice(0)) sync();
  };
  const slow: typeof fdatasync = Object.assign(
    (...args: Parameters<typeof fdatasync>) => {
      if (isHeld) held.push(() => fdatasync(...args));
      else fdatasync(...args);
    },
    { __promisify__: fdatasync.__promisify__ },
  );
  replace(slow);
  return {
    goOn,
    [Symbol.dispose]() {
      replace(fdatasync);
      goOn();
    },
  };
}
