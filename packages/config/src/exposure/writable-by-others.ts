import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

const othersMayWrite = 0o022;
const sticky = 0o1000;

/**
 * Says which file or directory lets another user than this one and root change a file; `undefined` if none does. The
 * directories above it count, since a file can be replaced there. In a sticky directory only a file's owner can replace it.
 */
export function writableByOthers(file: string): string | undefined {
  try {
    const real = realpathSync(file);
    // The directory of a link counts as well as that of its target.
    const chain = new Set([
      real,
      ...directoriesOver(real),
      ...directoriesOver(`${realpathSync(dirname(file))}/x`),
    ]);
    for (const path of chain) {
      const why = openness(statSync(path));
      if (why !== undefined) return `${path} ${why}`;
    }
    return undefined;
  } catch {
    // A file that is not there cannot be read either, and the directory around it is looked at when it is.
    return undefined;
  }
}

function directoriesOver(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...directoriesOver(parent)];
}

function openness(found: Stats): string | undefined {
  if (found.uid !== 0 && found.uid !== process.getuid?.()) return `belongs to another user (${found.uid})`;
  const isProtected = found.isDirectory() && (found.mode & sticky) !== 0;
  return (found.mode & othersMayWrite) !== 0 && !isProtected
    ? 'can be written by others (chmod go-w mends it)'
    : undefined;
}
