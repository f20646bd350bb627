import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeWhole } from '@signalbox/serving/whole-files';

/** Returns a function that writes a turn's output into a file, in place of the output of the turn before. */
export function outputKeeper(path: string): (text: string) => Promise<void> {
  let writing = Promise.resolve();
  return (text) => {
    writing = writing
      .catch(() => {})
      .then(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
      .then(() => writeWhole(path, text));
    return writing;
  };
}
