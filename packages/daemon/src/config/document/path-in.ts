import { homedir } from 'node:os';
import { resolve } from 'node:path';

/** Returns the absolute path of one that is written in a file of a directory. `~` is the home, as in a shell. */
export function pathIn(directory: string, path: string): string {
  return resolve(directory, path.replace(/^~(?=$|\/)/, homedir));
}
