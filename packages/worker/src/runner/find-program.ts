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
  const where = name.includes('/') ? 'there is no such program' : 'no such program on the PATH';
  throw new SignalboxError('command_not_found', `'${name}' was not found: ${where}`, {
    details: { hint: 'install it, or give its path; nothing was started and no token was made' },
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
