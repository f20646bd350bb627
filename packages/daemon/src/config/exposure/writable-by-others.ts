import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

const groupMayWrite = 0o020;
const anybodyMayWrite = 0o002;
const sticky = 0o1000;

/** A user of the operating system with its first group; `undefined` where the system has none. */
interface User {
  uid: number | undefined;
  gid: number | undefined;
}

/**
 * Says which file or directory lets another user than this one and root change a file; `undefined` if none does. The
 * directories above it count, since a file can be replaced there. In a sticky directory only a file's owner can replace it.
 */
export function writableByOthers(file: string, user: User = processUser()): string | undefined {
  try {
    const real = realpathSync(file);
    // The directory of a link counts as well as that of its target.
    const chain = new Set([
      real,
      ...directoriesOver(real),
      ...directoriesOver(`${realpathSync(dirname(file))}/x`),
    ]);
    for (const path of chain) {
      const why = openness(statSync(path), user);
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

function openness(found: Stats, user: User): string | undefined {
  if (found.uid !== 0 && found.uid !== user.uid) return `belongs to another user (${found.uid})`;
  // A device such as /dev/null does not give back what was written to it.
  const isProtected = found.isCharacterDevice() || (found.isDirectory() && (found.mode & sticky) !== 0);
  const othersMayWrite = isPrivateGroup(found.gid, user) ? anybodyMayWrite : groupMayWrite | anybodyMayWrite;
  return (found.mode & othersMayWrite) !== 0 && !isProtected
    ? 'can be written by others (chmod go-w mends it)'
    : undefined;
}

/**
 * Returns true for a user's private group. Fedora, Ubuntu and others give each user a group of the same number without other members,
 * and make files writable for it (umask 002).
 */
function isPrivateGroup(gid: number, user: User): boolean {
  return user.uid !== 0 && gid === user.uid && gid === user.gid;
}

function processUser(): User {
  return { uid: process.getuid?.(), gid: process.getgid?.() };
}
