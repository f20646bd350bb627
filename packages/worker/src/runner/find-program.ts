import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';

/** Finds the absolute path of a program as a shell does. Throws `SignalboxError` `command_not_found`. */
export function findProgram(name: string, cwd: string, path = ''): string {
  const places = name.includes('/')
    ? [resolve(cwd, name)]
    : path.split(delimiter).map((directory) => join(resolve(cwd, directory), name));
  const found = places.find(isProgram);
  if (found !== undefined) return found;
  throw new SignalboxError('command_not_found', `'${name}' ${absence(name, places)}`, {
    details: { hint: 'nothing was started and no token was made' },
  });
}

/** Returns the reason why no place holds the program, and what to do. */
function absence(name: string, places: readonly string[]): string {
  const isThere = places.some((place) => statSync(place, { throwIfNoEntry: false })?.isFile());
  if (isThere) return 'is there, but it may not be executed: chmod +x makes it a program';
  const where = name.includes('/') ? 'there is no such program' : 'no such program on the PATH';
  return `was not found: ${where}: install it, or give its path`;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
