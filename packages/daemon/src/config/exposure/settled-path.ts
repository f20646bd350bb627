import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/** Returns the path without symbolic links. Parts that do not exist yet stay as they are written. */
export function settledPath(path: string): string {
  const real = realOrUndefined(path);
  if (real !== undefined) return real;
  const absolute = resolve(path);
  const parent = dirname(absolute);
  return parent === absolute ? absolute : join(settledPath(parent), basename(absolute));
}

/** Returns true if a settled path is the directory itself, or lies in it. */
export function liesIn(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
