import { writeWhole } from './write-whole.ts';

/** Returns a function that writes what a turn wrote into a file, in place of what the turn before it wrote. */
export function outputKeeper(path: string): (text: string) => Promise<void> {
  let writing = Promise.resolve();
  return (text) => {
    writing = writing.catch(() => {}).then(() => writeWhole(path, text));
    return writing;
  };
}
