import { resolve } from 'node:path';
import { findConfig } from '@signalbox/daemon/config/internal';

/** Returns the options with which a command in this directory uses a configuration: none if it finds that one by itself. */
export function configOptions(file: string): string[] {
  return isFoundHere(file) ? [] : ['--config', file];
}

function isFoundHere(file: string): boolean {
  try {
    const found = findConfig(undefined, { env: { ...process.env, SIGNALBOX_CONFIG: '' } });
    return found !== undefined && resolve(found.file) === resolve(file);
  } catch {
    return false;
  }
}
