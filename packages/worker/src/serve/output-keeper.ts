import { writeWhole } from './write-whole.ts';

/** Returns a function that writes a turn's output into a file, in place of the output of the turn before. */
export function outputKeeper(path: string): (text: string) => Promise<void> {
  let writing = Promise.resolve();
  return (text) => {
    writing = writing.catch(() => {}).then(() => writeWhole(path, text));
    return writing;
  };
}
