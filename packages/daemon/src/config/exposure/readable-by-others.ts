import { statSync } from 'node:fs';

const othersMayRead = 0o044;

/** Returns true if the permissions of a file let another user of this machine read it; false for a file that is gone. */
export function readableByOthers(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && (stats.mode & othersMayRead) !== 0;
}
